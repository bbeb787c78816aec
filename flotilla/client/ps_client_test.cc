// What a client sends and how it reads answers, against servers that answer as the test defines.
// Its work with real servers is tested in testing/.
#include "flotilla/client/ps_client.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/manual_clock_testing.h"
#include "flotilla/base/mutex.h"

namespace flotilla {
namespace {

struct Sent {
  int server = 0;
  int64_t timeout_ms = 0;
  wire::RequestHead head;
  Payload payload;
};

using Requests = std::vector<Sent>;
// The answer to a request.
using Script = std::function<StatusOr<Payload>(const Sent& request)>;

// The requests that arrived, in order.
class SentLog {
 public:
  void Add(Sent request) {
    MutexLock lock(mutex_);
    requests_.push_back(std::move(request));
  }
  Requests of(wire::Method method) const {
    MutexLock lock(mutex_);
    Requests found;
    for (const Sent& request : requests_) {
      if (request.head.method() == method) found.push_back(request);
    }
    return found;
  }
  size_t size() const {
    MutexLock lock(mutex_);
    return requests_.size();
  }

 private:
  mutable Mutex mutex_;
  Requests requests_ FL_GUARDED_BY(mutex_);
};

// Answers in the calling thread.
class FakeServers : public Transport {
 public:
  FakeServers(int servers, std::shared_ptr<SentLog> log, Script script)
      : log_(std::move(log)), script_(std::move(script)) {
    for (int s = 0; s < servers; ++s) names_.push_back("host" + std::to_string(s));
  }

  int servers() const override { return static_cast<int>(names_.size()); }
  const std::string& address(int server) const override { return names_[server]; }
  void Call(int server, Payload request, int64_t timeout_ms, ReplyCallback done) override {
    const Sent sent{.server = server,
                    .timeout_ms = timeout_ms,
                    .head = DecodeRequest(request)->head,
                    .payload = request};
    log_->Add(sent);
    done(script_(sent));
  }
  void Close() override {}

 private:
  std::vector<std::string> names_;
  const std::shared_ptr<SentLog> log_;
  const Script script_;
};

Payload Empty() { return EncodeResponse({}, {}); }

Payload Welcome() {
  wire::ResponseHead head;
  head.mutable_handshake()->set_server_life(1);
  return EncodeResponse(std::move(head), {});
}

Payload StepAnswer(uint64_t step) {
  wire::ResponseHead head;
  head.mutable_push()->set_global_step(step);
  return EncodeResponse(std::move(head), {});
}

std::string BytesOfPayload(const Payload& payload) {
  std::string bytes(payload.size(), '\0');
  PayloadReader(payload).Read(bytes.data(), bytes.size());
  return bytes;
}

// Ids that belong to a server.
std::vector<uint64_t> IdsOf(int server, int servers, size_t count) {
  std::vector<uint64_t> ids;
  for (uint64_t id = 0; ids.size() < count; ++id) {
    if (ServerOfShard(VirtualShard(id), servers) == server) ids.push_back(id);
  }
  return ids;
}

SparseRows RowsFor(std::vector<uint64_t> ids, int64_t dim) {
  SparseRows rows;
  rows.dim = dim;
  rows.values.assign(ids.size() * static_cast<size_t>(dim), 1);
  rows.ids = std::move(ids);
  return rows;
}

class PsClientTest : public ::testing::Test {
 protected:
  // One table of dim 2, and dense parameters of these sizes.
  std::unique_ptr<PsClient> Make(int servers, Script script, const std::vector<int64_t>& dense = {},
                                 PsClientOptions options = {}) {
    ModelSpec spec;
    for (const int64_t size : dense) {
      spec.parameters.push_back({.name = fmt::format("w{}", size), .shape = {size}});
    }
    spec.tables.push_back({.name = "emb", .dim = 2});
    options.retry.first_backoff_ms = 1;
    options.heartbeat.interval_ms = 3'600'000;
    return std::make_unique<PsClient>(
        spec, options, std::make_unique<FakeServers>(servers, sent_, std::move(script)), &clock_,
        LogLine(), std::move(control_));
  }

  const std::shared_ptr<SentLog> sent_ = std::make_shared<SentLog>();
  std::unique_ptr<Transport> control_;
  ManualClock clock_;
};

TEST_F(PsClientTest, APullGoesOnlyToServersThatOwnItsIds) {
  const auto client = Make(3, [](const Sent&) {
    TensorWriter tensors;
    tensors.AddOwned(AlignedVector<float>{1, 2, 3, 4});
    return EncodeResponse({}, tensors);
  });
  std::vector<SparseRows> rows(1);
  EXPECT_TRUE(client->Pull(Missing::kCreate, rows).ok());
  EXPECT_EQ(sent_->size(), 0u) << "there is nothing to pull";
  rows[0].ids = IdsOf(1, 3, 2);
  EXPECT_TRUE(client->Pull(Missing::kCreate, rows).ok());
  const Requests pulls = sent_->of(wire::METHOD_PULL);
  ASSERT_EQ(pulls.size(), 1u);
  EXPECT_EQ(pulls[0].server, 1);
  EXPECT_EQ(rows[0].values, (AlignedVector<float>{1, 2, 3, 4}));
}

TEST_F(PsClientTest, DenseCallsGoOnlyToServersWithASlice) {
  const auto client = Make(3,
                           [](const Sent& request) {
                             TensorWriter tensors;
                             if (request.head.method() == wire::METHOD_PULL_DENSE) {
                               tensors.AddOwned(AlignedVector<float>(16, 4));
                             }
                             return EncodeResponse({}, tensors);
                           },
                           {10});
  std::vector<float> dense(16);
  EXPECT_TRUE(client->PullDense(dense).ok());
  EXPECT_EQ(dense, std::vector<float>(16, 4));
  EXPECT_TRUE(client->WriteDense(0, std::vector<float>(10)).ok());
  for (const wire::Method method : {wire::METHOD_PULL_DENSE, wire::METHOD_WRITE_DENSE}) {
    const Requests calls = sent_->of(method);
    ASSERT_EQ(calls.size(), 1u) << wire::Method_Name(method);
    EXPECT_GT(DenseRangeOf(16, calls[0].server, 3).size(), 0);
  }
}

TEST_F(PsClientTest, RequestsThatChangeSomethingAreNumberedAndOthersAreNot) {
  const auto client = Make(2, [](const Sent&) { return Empty(); });
  const std::vector<SparseRows> rows = {RowsFor({1, 2, 3}, 2)};
  PushSequences sequences;
  EXPECT_TRUE(client->StartPush({.sparse = rows}, &sequences)->Wait().ok());
  EXPECT_TRUE(client->EnterRounds().ok());
  EXPECT_TRUE(client->EndSave().ok());
  const std::vector<SparseRows> none = {RowsFor({}, 2)};
  EXPECT_TRUE(client->Push({.sparse = none}).ok());
  EXPECT_TRUE(client->Barrier("end").ok());
  EXPECT_TRUE(client->Stop().ok());
  std::vector<uint64_t> numbers;
  for (const auto method : {wire::METHOD_PUSH, wire::METHOD_ENTER_ROUNDS, wire::METHOD_SAVE}) {
    for (const Sent& request : sent_->of(method)) numbers.push_back(request.head.sequence());
  }
  EXPECT_EQ(sequences, (PushSequences{numbers[0], numbers[1]}));
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(numbers, (std::vector<uint64_t>{1, 2, 3, 4, 5, 6, 7, 8}));
  for (const auto method : {wire::METHOD_COLLECTIVE, wire::METHOD_STOP}) {
    for (const Sent& request : sent_->of(method)) EXPECT_EQ(request.head.sequence(), 0u);
  }
}

TEST_F(PsClientTest, ARetriedPushIsTheSameRequest) {
  int attempts = 0;
  const auto client = Make(1, [&](const Sent&) -> StatusOr<Payload> {
    if (++attempts < 3) return absl::UnavailableError("reset");
    return StepAnswer(1);
  });
  const std::vector<SparseRows> rows = {RowsFor({7}, 2)};
  EXPECT_TRUE(client->Push({.sparse = rows}).ok());
  const Requests pushes = sent_->of(wire::METHOD_PUSH);
  ASSERT_EQ(pushes.size(), 3u);
  for (const Sent& push : pushes) {
    EXPECT_EQ(BytesOfPayload(push.payload), BytesOfPayload(pushes[0].payload));
  }
}

TEST_F(PsClientTest, APartThatTheServerCouldNotKeepIsSentAgainUnderANewNumber) {
  int pushed = 0;
  const auto client = Make(1, [&](const Sent&) {
    wire::ResponseHead head;
    head.mutable_push()->set_send_again(++pushed == 1);
    return EncodeResponse(std::move(head), {});
  });
  const std::vector<SparseRows> rows = {RowsFor({7, 8}, 2)};
  EXPECT_TRUE(client->Push({.kind = PushKind::kInRound, .sparse = rows}).ok());
  Requests pushes = sent_->of(wire::METHOD_PUSH);
  ASSERT_EQ(pushes.size(), 2u);
  EXPECT_EQ(pushes[1].head.sequence(), 2u);
  TensorReader tensors = DecodeRequest(pushes[1].payload)->tensors;
  std::vector<uint64_t> ids;
  EXPECT_TRUE(tensors.ReadAll(&ids).ok());
  EXPECT_EQ(ids, rows[0].ids);
}

TEST_F(PsClientTest, RowsWithAnOwnerAreSentWithoutCopyingAndOthersAreCopied) {
  const auto client = Make(1, [](const Sent&) { return StepAnswer(1); });
  const std::vector<SparseRows> rows = {RowsFor({7, 8}, 2)};
  const auto sends = [&](const void* data) {
    const Requests pushes = sent_->of(wire::METHOD_PUSH);
    const std::vector<ByteSlice>& slices = pushes.back().payload.slices();
    return std::any_of(slices.begin(), slices.end(),
                       [&](const ByteSlice& slice) { return slice.data == data; });
  };
  EXPECT_TRUE(client->Push({.sparse = rows}).ok());
  EXPECT_FALSE(sends(rows[0].values.data()));
  EXPECT_TRUE(client->Push({.sparse = rows, .owner = std::make_shared<int>()}).ok());
  EXPECT_TRUE(sends(rows[0].values.data()));
  EXPECT_TRUE(sends(rows[0].ids.data()));
}

TEST_F(PsClientTest, DifferencesAreNeverRoundedToHalf) {
  PsClientOptions options;
  options.half_dense = true;
  const auto client = Make(
      1, [](const Sent&) { return StepAnswer(1); }, {16}, options);
  const std::vector<float> dense(16, 1);
  const std::vector<SparseRows> none = {RowsFor({}, 2)};
  EXPECT_TRUE(client->Push({.kind = PushKind::kDelta, .dense = dense, .sparse = none}).ok());
  EXPECT_TRUE(client->Push({.dense = dense, .sparse = none}).ok());
  const Requests pushes = sent_->of(wire::METHOD_PUSH);
  ASSERT_EQ(pushes.size(), 2u);
  EXPECT_EQ(pushes[0].head.tensors(0).type(), wire::DATA_FLOAT32);
  EXPECT_EQ(pushes[1].head.tensors(0).type(), wire::DATA_BFLOAT16);
}

TEST_F(PsClientTest, OnlyCallsThatWaitForNobodyHaveATimeout) {
  PsClientOptions options;
  options.rpc_timeout_ms = 1'234;
  options.heartbeat.silent_bound_ms = 1'000;
  const auto client = Make(
      1, [](const Sent&) { return Empty(); }, {}, options);
  const std::vector<SparseRows> rows = {RowsFor({7}, 2)};
  EXPECT_TRUE(client->Push({.sparse = rows}).ok());
  EXPECT_TRUE(client->Push({.kind = PushKind::kInRound, .sparse = rows}).ok());
  EXPECT_TRUE(client->EnterRounds().ok());
  EXPECT_TRUE(client->Barrier("end").ok());
  EXPECT_TRUE(client->EndSave().ok());
  EXPECT_TRUE(client->Stop().ok());
  EXPECT_EQ(sent_->of(wire::METHOD_PUSH)[0].timeout_ms, 1'234);
  EXPECT_EQ(sent_->of(wire::METHOD_PUSH)[1].timeout_ms, kNoTimeoutMs);
  EXPECT_EQ(sent_->of(wire::METHOD_ENTER_ROUNDS)[0].timeout_ms, kNoTimeoutMs);
  EXPECT_EQ(sent_->of(wire::METHOD_COLLECTIVE)[0].timeout_ms, kNoTimeoutMs);
  EXPECT_EQ(sent_->of(wire::METHOD_SAVE)[0].timeout_ms, kNoTimeoutMs);
  EXPECT_EQ(sent_->of(wire::METHOD_STOP)[0].timeout_ms, 1'000) << "nobody detects silence then";
}

TEST_F(PsClientTest, TheGlobalStepIsTheLargestThatAServerReported) {
  uint64_t step = 0;
  const auto client = Make(1, [&](const Sent&) { return StepAnswer(step); });
  const std::vector<SparseRows> none = {RowsFor({}, 2)};
  for (const uint64_t next : {5, 3, 8}) {
    step = next;
    EXPECT_TRUE(client->Push({.sparse = none}).ok());
    EXPECT_EQ(client->global_step(), next == 8 ? 8 : 5);
  }
  step = uint64_t{1} << 62;
  EXPECT_EQ(client->Push({.sparse = none}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(client->global_step(), 8);
}

TEST_F(PsClientTest, AServerThatEndsBeforeItsAnswerToAStopWasTheLastToBeTold) {
  const auto client = Make(2, [](const Sent& request) -> StatusOr<Payload> {
    if (request.server == 1) return NobodyListens("refused");
    return Empty();
  });
  EXPECT_TRUE(client->Stop().ok());
  EXPECT_GT(sent_->of(wire::METHOD_STOP).size(), 2u) << "it was tried again";
}

TEST_F(PsClientTest, AnErrorThatEndsTheJobIsToldOnceToAllServersThroughTheControlConnection) {
  const auto controlled = std::make_shared<SentLog>();
  control_ = std::make_unique<FakeServers>(2, controlled, [](const Sent&) { return Empty(); });
  PsClientOptions options;
  std::vector<Status> failures;
  options.on_failure = [&](const Status& error) { failures.push_back(error); };
  const auto client = Make(
      2, [](const Sent&) { return Welcome(); }, {}, options);
  ASSERT_TRUE(client->WaitForServers(60'000).ok());
  const std::string cause(100'000, 'x');
  client->Abort(absl::DataLossError(cause));
  client->Abort(absl::InternalError("second"));
  ASSERT_EQ(failures.size(), 1u);
  EXPECT_EQ(failures[0].message(), cause);
  EXPECT_TRUE(sent_->of(wire::METHOD_ABORT).empty());
  const Requests aborts = controlled->of(wire::METHOD_ABORT);
  ASSERT_EQ(aborts.size(), 2u);
  EXPECT_EQ(aborts[0].server + aborts[1].server, 1);
  EXPECT_EQ(aborts[0].head.abort().code(), static_cast<uint32_t>(absl::StatusCode::kDataLoss));
  EXPECT_EQ(aborts[0].head.abort().message(), std::string(64 << 10, 'x')) << "must fit a head";
  const size_t before = sent_->size();
  EXPECT_EQ(client->Barrier("later").code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(sent_->size(), before);
}

TEST_F(PsClientTest, AServerWhoseConnectionHasBrokenIsToldOfAFailureOverANewOne) {
  std::vector<int> told(3);
  const Script answer = [&](const Sent& request) -> StatusOr<Payload> {
    if (request.head.method() != wire::METHOD_ABORT) return Empty();
    EXPECT_EQ(request.head.abort().message(), "cause");
    const int times = ++told[request.server];
    if (request.server == 1 && times < 3) return absl::UnavailableError("connection reset");
    if (request.server == 2) return NobodyListens("refused");
    return Empty();
  };
  control_ = std::make_unique<FakeServers>(3, std::make_shared<SentLog>(), answer);
  const auto client = Make(3, [](const Sent&) { return Welcome(); });
  ASSERT_TRUE(client->WaitForServers(60'000).ok());
  client->Abort(absl::DataLossError("cause"));
  EXPECT_EQ(told[0], 1);
  EXPECT_EQ(told[1], 3) << "until it was reached";
  EXPECT_EQ(told[2], 6) << "a process that has ended is given up";
}

TEST_F(PsClientTest, ServersThatDoNotKnowTheTrainerAreNotToldOfItsFailure) {
  const auto client = Make(1, [](const Sent&) { return Empty(); });
  client->Abort(absl::DataLossError("before the handshake"));
  EXPECT_EQ(sent_->size(), 0u);
}

TEST_F(PsClientTest, RowsThatDoNotFitTheTableAreNotSent) {
  const auto client = Make(1, [](const Sent&) { return Empty(); });
  EXPECT_EQ(client->WriteRows(0, RowsFor({1}, 3)).message(),
            "table emb: 3 values for 1 rows of dim 2");
  SparseRows rows = RowsFor({1, 2}, 2);
  rows.values.pop_back();
  EXPECT_EQ(client->WriteRows(0, rows).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(sent_->size(), 0u);
}

TEST_F(PsClientTest, ASaveHasTheSmallestStepOfAnyServer) {
  const auto client = Make(2, [](const Sent& request) {
    wire::ResponseHead head;
    head.mutable_save()->set_global_step(request.server == 0 ? 7 : 5);
    TensorWriter tensors;
    tensors.AddOwned(AlignedVector<float>());
    return EncodeResponse(std::move(head), tensors);
  });
  const auto saved = client->BeginSave({}, true);
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_EQ(saved->step, 5);
}

TEST_F(PsClientTest, AParameterHasItsStateOnAllServersOrOnNone) {
  // Half of its weights are on each server; only server 0 has state.
  constexpr int64_t kFloats = 2 * kDenseBlockFloats;
  const auto client =
      Make(2,
           [](const Sent& request) {
             wire::ResponseHead head;
             head.mutable_save();
             TensorWriter tensors;
             tensors.AddOwned(AlignedVector<float>(kDenseBlockFloats));
             tensors.AddOwned(AlignedVector<float>(request.server == 0 ? kDenseBlockFloats : 0));
             return EncodeResponse(std::move(head), tensors);
           },
           {kFloats});
  const auto saved = client->BeginSave({}, true);
  EXPECT_NE(saved.status().ToString().find("some servers have state of it, some have none"),
            std::string::npos)
      << saved.status();
}

TEST_F(PsClientTest, CountsAndShardsOfASaveThatCannotBeAreRefused) {
  uint64_t rows = 0, next = 0;
  const auto client = Make(2, [&](const Sent& request) {
    wire::ResponseHead head;
    head.mutable_save()->set_next_shard(static_cast<uint32_t>(next));
    TensorWriter tensors;
    if (request.head.save().phase() == wire::SAVE_COUNT) {
      tensors.AddOwned(std::vector<uint64_t>(kVirtualShards / 2, rows));
    } else {
      AddStoredRows({}, &tensors);
    }
    return EncodeResponse(std::move(head), tensors);
  });
  rows = 3;
  const auto counts = client->CountSave(0, 0);
  ASSERT_TRUE(counts.ok()) << counts.status();
  EXPECT_EQ(counts->shard_rows, std::vector<int64_t>(kVirtualShards / 2, 3));
  rows = UINT64_MAX / 2;
  EXPECT_EQ(client->CountSave(0, 0).status().code(), absl::StatusCode::kInvalidArgument);
  StoredRows stored;
  next = 10;
  EXPECT_EQ(*client->ReadSave(0, 0, 5, &stored), 10);
  for (const uint64_t wrong : {uint64_t{5}, uint64_t{kVirtualShards / 2 + 1}}) {
    next = wrong;  // no progress, or a shard of another server
    EXPECT_EQ(client->ReadSave(0, 0, 5, &stored).status().code(),
              absl::StatusCode::kInvalidArgument)
        << wrong;
  }
}

TEST_F(PsClientTest, BlobsOfUnknownTrainersAndRangesThatDoNotFitAreRefused) {
  const auto client = Make(1,
                           [](const Sent& request) {
                             wire::ResponseHead head;
                             TensorWriter tensors;
                             if (request.head.method() == wire::METHOD_COLLECTIVE) {
                               head.mutable_collective()->add_from(1);
                               tensors.AddOwned(std::vector<uint8_t>{1});
                             } else {
                               tensors.AddOwned(std::vector<uint64_t>{});
                               tensors.AddOwned(AlignedVector<float>());
                               head.mutable_pull_dirty()->add_dense_begins(10);
                               head.mutable_pull_dirty()->add_dense_lengths(10);
                               tensors.AddOwned(AlignedVector<float>(10));
                             }
                             return EncodeResponse(std::move(head), tensors);
                           },
                           {16});
  EXPECT_NE(client->Gather("files", "").status().ToString().find("a blob of trainer 1"),
            std::string::npos);
  DirtyValues dirty;
  const Status status = client->PullDirty(100, &dirty);
  EXPECT_NE(status.ToString().find("10 changed values at 10 of a slice of 16"), std::string::npos)
      << status;
}

}  // namespace
}  // namespace flotilla
