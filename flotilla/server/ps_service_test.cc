// Requests that the service rejects: unknown senders, garbage, invalid requests. Its work for
// trainers is tested with the client, in testing/.
#include "flotilla/server/ps_service.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "flotilla/base/rng.h"
#include "flotilla/server/ps_service_testing.h"
#include "flotilla/tensor/shard_order.h"

namespace flotilla {
namespace {

class PsServiceTest : public ServiceFixture, public ::testing::Test {
 protected:
  static wire::RequestHead Push(uint64_t sequence) {
    return PushOf(wire::PUSH_ON_ARRIVAL, sequence);
  }
};

TEST_F(PsServiceTest, StrangersAreRefusedAndToldWhy) {
  wire::RequestHead head = Head(wire::METHOD_PING);
  head.set_protocol_version(99);
  EXPECT_NE(Ask(head).ToString().find(
                fmt::format("protocol version 99, the server has {}", kProtocolVersion)),
            std::string::npos);
  head = Head(wire::METHOD_PING);
  head.set_job_id("another");
  EXPECT_NE(Ask(head).ToString().find("\"another\""), std::string::npos);
  head = Head(wire::METHOD_PING);
  head.set_sender_index(2);
  EXPECT_EQ(Ask(head).message(), "a request of trainer 2, the job has 2");
  EXPECT_EQ(
      Ask(Head(wire::METHOD_PING)).message(),
      "does not know trainer 0: the server was restarted and has lost its parameters. Restart "
      "the job with --resume");
}

TEST_F(PsServiceTest, APauseOfTheServerIsNotBlamedOnTheTrainers) {
  Introduce(0);
  Introduce(1);
  service_->Tick();
  clock_.AdvanceMs(12'000);  // all of them were paused
  service_->Tick();
  EXPECT_TRUE(service_->liveness().status().ok()) << service_->liveness().status();
  for (int second = 0; second < 10; ++second) {
    clock_.AdvanceMs(1'000);
    EXPECT_TRUE(Ask(Head(wire::METHOD_PING)).ok());
    service_->Tick();
  }
  EXPECT_EQ(service_->liveness().status().message(),
            "trainer 1 has been silent for 10500 ms: taken for dead");
}

TEST_F(PsServiceTest, UnknownMethodsAreNamed) {
  Introduce();
  EXPECT_EQ(Ask(Head(static_cast<wire::Method>(77))).code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(Ask(Head(wire::METHOD_UNKNOWN)).code(), absl::StatusCode::kUnimplemented);
}

TEST_F(PsServiceTest, EveryMethodHasAHandler) {
  Introduce();
  // Stays Ok if the request waits for the other trainer.
  std::vector<Status> answers(wire::Method_ARRAYSIZE);
  for (int number = 1; number < wire::Method_ARRAYSIZE; ++number) {
    const auto method = static_cast<wire::Method>(number);
    // These would end the job.
    if (method == wire::METHOD_ABORT || method == wire::METHOD_STOP) continue;
    service_->Handle(EncodeRequest(Head(method, static_cast<uint64_t>(number)), {}),
                     [&answer = answers[number]](StatusOr<Payload> reply) {
                       answer = StatusOf(DecodeResponse(*std::move(reply))->head);
                     });
  }
  service_.reset();  // waits for a load
  for (int number = 1; number < wire::Method_ARRAYSIZE; ++number) {
    EXPECT_NE(answers[number].code(), absl::StatusCode::kUnimplemented)
        << wire::Method_Name(static_cast<wire::Method>(number));
  }
}

TEST_F(PsServiceTest, ABodyOfAnotherMethodIsRefusedBeforeAnythingHappens) {
  Introduce();
  wire::RequestHead head = Push(1);
  head.set_method(wire::METHOD_WRITE_ROWS);
  EXPECT_EQ(Ask(head, Rows({1}, 2)),
            InvalidArgument("METHOD_WRITE_ROWS with the body of another method"));
  EXPECT_EQ(service_->tables().table(0).size(), 0);
  EXPECT_TRUE(Ask(Push(1), Rows({1}, 2)).ok()) << "the sequence is still free";
}

TEST_F(PsServiceTest, GarbageIsAnsweredWithAnError) {
  for (uint64_t round = 0; round < 200; ++round) {
    std::string bytes(round % 40, '\0');
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(RngKey(round).Bits(i));
    Payload payload;
    payload.AddCopy(bytes.data(), bytes.size());
    EXPECT_EQ(StatusOf(Send(payload).head).code(), absl::StatusCode::kInvalidArgument);
  }
}

TEST_F(PsServiceTest, PushesThatMakeNoSenseChangeNothing) {
  Introduce();
  EXPECT_FALSE(Ask(Push(0), Rows({1}, 2)).ok());  // no sequence
  EXPECT_FALSE(Ask(Push(1), Rows({1}, 3)).ok());  // 3 values for one row of dim 2
  EXPECT_FALSE(Ask(Push(2), {}).ok());            // no tensors
  wire::RequestHead head = Push(3);
  head.mutable_push()->add_tables(0);  // a table twice
  TensorWriter twice = Rows({1}, 2);
  twice.AddOwned(std::vector<uint64_t>{2});
  twice.AddOwned(AlignedVector<float>(2, 1));
  EXPECT_FALSE(Ask(head, twice).ok());
  head = Push(4);
  head.mutable_push()->set_tables(0, 5);  // no such table
  EXPECT_FALSE(Ask(head, Rows({1}, 2)).ok());
  head = Push(5);
  head.mutable_push()->set_has_dense(true);  // a slice that is too short
  TensorWriter dense = Rows({1}, 2);
  dense.AddOwned(AlignedVector<float>(3, 1));
  EXPECT_FALSE(Ask(head, dense).ok());
  head = Push(7);
  head.mutable_push()->set_rows(UINT64_MAX);  // more examples than can be
  EXPECT_FALSE(Ask(head, Rows({1}, 2)).ok());
  EXPECT_EQ(service_->tables().table(0).size(), 0);
  EXPECT_EQ(service_->global_step(), 0);
  EXPECT_EQ(service_->applied(), 0);
  EXPECT_TRUE(Ask(Push(6), Rows({1}, 2)).ok());
  EXPECT_EQ(service_->applied(), 1);
}

TEST_F(PsServiceTest, PushedRowsMayHaveAnyOrder) {
  Introduce();
  std::vector<uint64_t> ids(100);
  std::iota(ids.begin(), ids.end(), 0);
  ASSERT_FALSE(OrderByShard(ids).in_order);
  std::vector<uint64_t> sorted = ids;
  std::sort(sorted.begin(), sorted.end(),
            [](uint64_t a, uint64_t b) { return VirtualShard(a) < VirtualShard(b); });
  uint64_t sequence = 0;
  for (const auto& order : {ids, sorted}) {
    AlignedVector<float> values;
    for (const uint64_t id : order) values.insert(values.end(), {id + 1.f, id + 2.f});
    TensorWriter tensors;
    tensors.AddOwned(order);
    tensors.AddOwned(values);
    ASSERT_TRUE(Ask(Push(++sequence), tensors).ok());
  }
  for (const uint64_t id : ids) {
    const float* row = service_->tables().table(0).Find(id);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row[0], -2 * (id + 1.f));  // SGD with rate 1, twice
    EXPECT_EQ(row[1], -2 * (id + 2.f));
  }
}

TEST_F(PsServiceTest, WhereUpdatesComeAtAnyTimeAnswersCarryTheDenseParametersThemselves) {
  Introduce();
  Payload answer;
  service_->Handle(EncodeRequest(Head(wire::METHOD_PULL_DENSE), {}),
                   [&](StatusOr<Payload> reply) { answer = *std::move(reply); });
  const auto* live = reinterpret_cast<const std::byte*>(service_->tables().dense().data());
  EXPECT_EQ(answer.slices().back().data, live);
  service_.reset();  // the answer keeps them
  AlignedVector<float> values;
  EXPECT_TRUE(DecodeResponse(answer)->tensors.ReadAll(&values).ok());
}

TEST_F(PsServiceTest, ARefusedPushIsRefusedAgainWhenItIsRepeated) {
  Introduce();
  const Status first = Ask(Push(1), Rows({1}, 3));
  EXPECT_FALSE(first.ok());
  EXPECT_EQ(Ask(Push(1), Rows({1}, 2)), first);
}

TEST_F(PsServiceTest, OtherRequestsWithNonsenseAreRefusedToo) {
  Introduce();
  wire::RequestHead head = Head(wire::METHOD_PULL);
  head.mutable_pull()->add_tables(9);
  EXPECT_FALSE(Ask(head, Rows({1}, 0)).ok());
  head = Head(wire::METHOD_READ_ROWS);
  head.mutable_read_rows()->set_table(9);
  EXPECT_FALSE(Ask(head).ok());
  head = Head(wire::METHOD_READ_ROWS);
  head.mutable_read_rows()->set_first_shard(100'000);
  EXPECT_TRUE(Ask(head).ok());  // nothing is left to read
  head = Head(wire::METHOD_WRITE_ROWS, 1);
  EXPECT_FALSE(Ask(head, Rows({1}, 1)).ok());
  head = Head(wire::METHOD_WRITE_DENSE, 2);
  head.mutable_write_dense()->set_begin(UINT64_MAX);
  TensorWriter values;
  values.AddOwned(AlignedVector<float>(1));
  EXPECT_FALSE(Ask(head, values).ok());
  EXPECT_FALSE(Ask(Head(wire::METHOD_SAVE, 3)).ok());
}

class DeltaServiceTest : public ServiceFixture, public ::testing::Test {
 protected:
  DeltaServiceTest() : ServiceFixture(UpdatePolicy::kAddDelta) {}

  // The ids that a pull of trainer 1 brings.
  StatusOr<std::vector<uint64_t>> PullDirty(uint64_t sequence) {
    ResponseMessage response =
        Send(EncodeRequest(Head(wire::METHOD_PULL_DIRTY, sequence, /*trainer=*/1), {}));
    FL_RETURN_IF_ERROR(StatusOf(response.head));
    std::vector<uint64_t> ids;
    FL_RETURN_IF_ERROR(response.tensors.ReadAll(&ids));
    return ids;
  }
};

TEST_F(DeltaServiceTest, AnswersShareACopyOfTheDenseParametersUntilTheyChange) {
  Introduce();
  const auto pull = [&] {
    std::vector<Payload> answers(2);
    for (Payload& answer : answers) {
      service_->Handle(EncodeRequest(Head(wire::METHOD_PULL_DENSE), {}),
                       [&](StatusOr<Payload> reply) { answer = *std::move(reply); });
    }
    return answers;
  };
  const auto values_of = [](const Payload& answer) {
    AlignedVector<float> values;
    EXPECT_TRUE(DecodeResponse(answer)->tensors.ReadAll(&values).ok());
    return values;
  };
  const std::vector<Payload> before = pull();
  EXPECT_EQ(before[0].slices().back().data, before[1].slices().back().data);
  wire::RequestHead write = Head(wire::METHOD_WRITE_DENSE, 1);
  write.mutable_write_dense();
  TensorWriter ones;
  ones.AddOwned(AlignedVector<float>(20, 1));
  ASSERT_TRUE(Ask(write, ones).ok());
  wire::RequestHead push = PushOf(wire::PUSH_DELTA, 2);
  push.mutable_push()->set_has_dense(true);
  const std::vector<Payload> written = pull();
  TensorWriter deltas = Rows({1}, 2);
  deltas.AddOwned(AlignedVector<float>(static_cast<size_t>(service_->tables().range().size()), 3));
  ASSERT_TRUE(Ask(push, deltas).ok());
  EXPECT_EQ(values_of(before[0])[19], 0);
  EXPECT_EQ(values_of(written[0])[19], 1);
  EXPECT_EQ(values_of(pull()[1])[19], 4) << "1 + 3";
}

TEST_F(DeltaServiceTest, ALateCopyOfAnEarlierPullTakesNothingFromTheNext) {
  Introduce(0);
  Introduce(1);
  EXPECT_EQ(PullDirty(1)->size(), 0u);
  EXPECT_EQ(PullDirty(2)->size(), 0u);
  ASSERT_TRUE(Ask(PushOf(wire::PUSH_DELTA, 1), Rows({7}, 2)).ok());
  EXPECT_FALSE(PullDirty(1).ok()) << "the trainer has gone on to pull 2";
  EXPECT_EQ(*PullDirty(3), std::vector<uint64_t>{7});
  EXPECT_EQ(*PullDirty(3), std::vector<uint64_t>{7}) << "the answer got lost";
}

TEST_F(PsServiceTest, ASaveThatIsEndedBeforeItsBeginArrivesIsNotBegun) {
  Introduce();
  wire::RequestHead begin = Head(wire::METHOD_SAVE, 1), end = Head(wire::METHOD_SAVE, 2);
  begin.mutable_save()->set_phase(wire::SAVE_BEGIN);
  begin.mutable_save()->add_tables(0);
  end.mutable_save()->set_phase(wire::SAVE_END);
  ASSERT_TRUE(Ask(end).ok());
  EXPECT_EQ(Ask(begin).message(), "the save has ended");
  EXPECT_TRUE(service_->tables().table(0).BeginCut().ok()) << "no cut was left open";
  service_->tables().table(0).EndCut();
  begin.set_sequence(3);
  EXPECT_TRUE(Ask(begin).ok());
}

TEST_F(PsServiceTest, TheEndOfARefusedSaveLeavesTheSaveOfAnotherTrainer) {
  Introduce(0);
  Introduce(1);
  wire::RequestHead begin = Head(wire::METHOD_SAVE, 1), end = Head(wire::METHOD_SAVE, 2);
  begin.mutable_save()->set_phase(wire::SAVE_BEGIN);
  begin.mutable_save()->add_tables(0);
  end.mutable_save()->set_phase(wire::SAVE_END);
  wire::RequestHead end_of_other = end;
  end_of_other.set_sender_index(1);
  ASSERT_TRUE(Ask(begin).ok());
  ASSERT_TRUE(Ask(end_of_other).ok());
  EXPECT_FALSE(service_->tables().table(0).BeginCut().ok()) << "the cut of trainer 0 has ended";
  ASSERT_TRUE(Ask(end).ok());
  EXPECT_TRUE(service_->tables().table(0).BeginCut().ok());
  service_->tables().table(0).EndCut();
}

TEST_F(PsServiceTest, StepsThatNoJobReachesAreNotLoaded) {
  Introduce();
  wire::RequestHead load = Head(wire::METHOD_LOAD, 1);
  load.mutable_load()->set_phase(wire::LOAD_END);
  load.mutable_load()->set_step(uint64_t{1} << 63);
  EXPECT_EQ(Ask(load).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(service_->global_step(), 0);
}

TEST_F(PsServiceTest, AnswersDoNotGrowWithRepetitionsInTheRequest) {
  Introduce(0);
  Introduce(1);
  wire::RequestHead pull = Head(wire::METHOD_PULL);
  TensorWriter ids;
  for (int i = 0; i < 2; ++i) {
    pull.mutable_pull()->add_tables(0);
    ids.AddOwned(std::vector<uint64_t>{1});
  }
  EXPECT_EQ(Ask(pull, ids).code(), absl::StatusCode::kInvalidArgument);
  wire::RequestHead exchange = Head(wire::METHOD_COLLECTIVE);
  exchange.mutable_collective()->set_kind(wire::COLLECTIVE_EXCHANGE);
  TensorWriter blobs;
  for (int i = 0; i < 2; ++i) {
    exchange.mutable_collective()->add_to(1);
    blobs.AddOwned(std::vector<uint8_t>{1});
  }
  EXPECT_EQ(Ask(exchange, blobs).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(PsServiceTest, AfterAFailureEveryRequestGetsTheCause) {
  Introduce();
  wire::RequestHead abort = Head(wire::METHOD_ABORT);
  abort.mutable_abort()->set_code(static_cast<uint32_t>(absl::StatusCode::kDataLoss));
  abort.mutable_abort()->set_message("disk on fire");
  EXPECT_TRUE(Ask(abort).ok());
  const ResponseMessage response = Send(EncodeRequest(Head(wire::METHOD_PING), {}));
  EXPECT_TRUE(response.head.job_failed());
  EXPECT_EQ(StatusOf(response.head).message(), "trainer 0: disk on fire");
  EXPECT_EQ(Ask(Push(1), Rows({1}, 2)).code(), absl::StatusCode::kDataLoss);
  EXPECT_TRUE(service_->liveness().WaitForEnd(0));
  wire::RequestHead stop = Head(wire::METHOD_STOP);
  stop.mutable_stop();
  EXPECT_TRUE(Ask(stop).ok());
}

}  // namespace
}  // namespace flotilla
