// Whatever servers answer, a client returns an error or values, and continues: answers to every
// call with changed numbers in their heads, changed tensors, changed bytes. The sanitizers check
// its memory accesses.
#include <gtest/gtest.h>

#include "flotilla/base/mutex.h"
#include "flotilla/rpc/codec.h"
#include "flotilla/rpc/message_mutation_testing.h"
#include "flotilla/testing/cluster_testing.h"

namespace flotilla {
namespace {

constexpr int kRuns = 150;
constexpr int kCallsOfARun = 12;

struct TensorBytes {
  wire::TensorInfo info;
  std::string bytes;
};

// Answers as a server does, and then changes some answers.
class ChangingService : public Service {
 public:
  ChangingService(Service* service, const RngKey& key) : service_(service), draws_(key) {}

  void Handle(Payload request, ReplyCallback reply) override {
    const bool handshake =
        DecodeRequest(request)->head.method() == wire::METHOD_HANDSHAKE;  // or nothing would start
    service_->Handle(std::move(request), [this, handshake, reply](StatusOr<Payload> answer) {
      ASSERT_TRUE(answer.ok()) << answer.status();
      reply(handshake ? *std::move(answer) : Change(*answer));
    });
  }

 private:
  Payload Change(const Payload& answer) {
    MutexLock lock(mutex_);
    if (draws_.OneIn(2)) return answer;
    if (draws_.OneIn(5)) return ChangeBytes(answer, &draws_);
    StatusOr<ResponseMessage> message = DecodeResponse(answer);
    std::vector<TensorBytes> tensors = Cut(answer, message->head);
    for (uint64_t n = 1 + draws_.Below(2); n > 0; --n) {
      if (draws_.OneIn(2)) {
        ChangeMessage(&message->head, &draws_);
      } else {
        ChangeTensors(&tensors);
      }
    }
    if (!draws_.OneIn(10)) {  // errors are believed: they would end most runs
      message->head.set_code(0);
      message->head.set_job_failed(false);
    }
    return Join(std::move(message->head), tensors);
  }

  static size_t ElementBytes(const wire::TensorInfo& info) {
    return info.type() == wire::DATA_UINT8 ? 1 : info.type() == wire::DATA_FLOAT32 ? 4 : 8;
  }
  static std::vector<TensorBytes> Cut(const Payload& answer, const wire::ResponseHead& head) {
    std::string all(answer.size(), '\0');
    PayloadReader(answer).Read(all.data(), all.size());
    size_t at = all.size();
    for (const wire::TensorInfo& info : head.tensors()) at -= info.elements() * ElementBytes(info);
    std::vector<TensorBytes> tensors;
    for (const wire::TensorInfo& info : head.tensors()) {
      const size_t size = info.elements() * ElementBytes(info);
      tensors.push_back({info, all.substr(at, size)});
      at += size;
    }
    return tensors;
  }
  void ChangeTensors(std::vector<TensorBytes>* tensors) FL_REQUIRES(mutex_) {
    if (tensors->empty() || draws_.OneIn(5)) {
      tensors->emplace_back().info.set_type(static_cast<wire::DataType>(1 + draws_.Below(4)));
      return;
    }
    const size_t at = draws_.Below(tensors->size());
    TensorBytes& tensor = (*tensors)[at];
    switch (draws_.Below(4)) {
      case 0:
        tensors->erase(tensors->begin() + static_cast<ptrdiff_t>(at));
        break;
      case 1:  // fewer or more elements
        tensor.bytes.resize(ElementBytes(tensor.info) * draws_.Below(600));
        break;
      case 2:  // other elements
        for (uint64_t n = draws_.Below(20); n > 0 && !tensor.bytes.empty(); --n) {
          tensor.bytes[draws_.Below(tensor.bytes.size())] = static_cast<char>(draws_.Below(256));
        }
        break;
      case 3:
        tensors->push_back(tensor);
        break;
    }
  }
  static Payload Join(wire::ResponseHead head, const std::vector<TensorBytes>& tensors) {
    TensorWriter writer;
    for (const TensorBytes& tensor : tensors) {
      const auto owner = std::make_shared<const std::string>(tensor.bytes);
      const ByteSlice slice = SliceOf(owner, 0, owner->size());
      switch (tensor.info.type()) {
        case wire::DATA_UINT8:
          writer.Add<uint8_t>(slice);
          break;
        case wire::DATA_UINT64:
          writer.Add<uint64_t>(slice);
          break;
        case wire::DATA_FLOAT64:
          writer.Add<double>(slice);
          break;
        default:
          writer.Add<float>(slice);
          break;
      }
    }
    return EncodeResponse(std::move(head), writer);
  }

  Service* const service_;
  Mutex mutex_;
  Draws draws_ FL_GUARDED_BY(mutex_);
};

// One trainer and two servers that give invalid answers.
class WrongServers {
 public:
  WrongServers(UpdatePolicy policy, const RngKey& key) : spec_(CountingModel({20'000, 3}, {2, 3})) {
    spec_.tables[1].rows = 100;
    for (int s = 0; s < 2; ++s) {
      PsServerOptions options = PatientServer();
      options.service.job_id = "test";
      options.service.server = s;
      options.service.servers = 2;
      options.service.policy = policy;
      const auto listen = [&](Service* service) {
        changing_[s] =
            std::make_unique<ChangingService>(service, key.With(static_cast<uint64_t>(s)));
        return network_.Listen(s == 0 ? "alpha" : "beta", changing_[s].get());
      };
      servers_[s] = *PsServer::Start(spec_, options, listen, &clock_, {});
    }
    PsClientOptions options = PatientClient();
    options.job_id = "test";
    client_ = std::make_unique<PsClient>(spec_, options, network_.Connect({"alpha", "beta"}),
                                         &clock_, [](std::string_view) {});
    EXPECT_OK(client_->WaitForServers(60'000));
  }

  // Any call. What it returns does not matter.
  void Call(Draws* draws) {
    const std::vector<SparseRows> rows = {RowsOf(IdRange(draws->Below(5), 30), 2),
                                          RowsOf(IdRange(draws->Below(5), 30), 3)};
    const std::vector<int> tables = {0, 1};
    AlignedVector<float> dense(static_cast<size_t>(client_->layout().size()), 1);
    StoredRows stored;
    double sum = 1;
    switch (draws->Below(16)) {
      case 0: {
        std::vector<SparseRows> pulled(2);
        pulled[0].ids = pulled[1].ids = IdRange(0, 50);
        return client_->Pull(Missing::kCreate, pulled).IgnoreError();
      }
      case 1:
      case 2:
        return client_
            ->Push({.kind = static_cast<PushKind>(draws->Below(3)),
                    .dense = dense,
                    .sparse = rows,
                    .fresh_dense = dense})
            .IgnoreError();
      case 3:
        return client_->PullDense(dense).IgnoreError();
      case 4:
        return client_->PullDirty(10, &dirty_).IgnoreError();
      case 5:
        return client_->EnterRounds().IgnoreError();
      case 6:
        return client_->LeaveRounds().IgnoreError();
      case 7:
        return client_->Sum("sum", {&sum, 1}).IgnoreError();
      case 8:
        return client_->Gather("gather", "blob").status().IgnoreError();
      case 9:
        return client_->Exchange("exchange", {"row"}).status().IgnoreError();
      case 10:
        return client_->ReadTable(0).status().IgnoreError();
      case 11:
        return client_->WriteRows(1, rows[1]).IgnoreError();
      case 12:
        return client_->BeginSave(tables, true).status().IgnoreError();
      case 13:
        return client_->CountSave(0, 1).status().IgnoreError();
      case 14:
        return client_->ReadSave(1, 0, kVirtualShards / 2, &stored).status().IgnoreError();
      case 15:
        return client_->EndSave().IgnoreError();
    }
  }

 private:
  ModelSpec spec_;
  SteadyClock clock_;
  InprocNetwork network_;
  std::unique_ptr<ChangingService> changing_[2];
  std::unique_ptr<PsServer> servers_[2];
  std::unique_ptr<PsClient> client_;
  DirtyValues dirty_;
};

class AnswerMutationTest : public ::testing::TestWithParam<UpdatePolicy> {};

TEST_P(AnswerMutationTest, AClientGoesOnWhateverServersAnswer) {
  for (uint64_t run = 0; run < kRuns; ++run) {
    const RngKey key = RngKey(static_cast<uint64_t>(GetParam())).With(run);
    WrongServers wrong(GetParam(), key);
    Draws draws(key.With(7));
    for (int i = 0; i < kCallsOfARun; ++i) wrong.Call(&draws);
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, AnswerMutationTest,
                         ::testing::Values(UpdatePolicy::kOnArrival, UpdatePolicy::kOnBarrier,
                                           UpdatePolicy::kAddDelta),
                         [](const auto& each) {
                           return "Policy" + std::to_string(static_cast<int>(each.param));
                         });

}  // namespace
}  // namespace flotilla
