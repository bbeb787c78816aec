// Whatever arrives, the service answers it or keeps it waiting until the job ends, and continues:
// requests of every method with changed numbers in their heads, changed tensors, changed bytes. The
// sanitizers check its memory accesses.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>

#include "flotilla/rpc/message_mutation_testing.h"
#include "flotilla/server/ps_service_testing.h"

namespace flotilla {
namespace {

constexpr int kRequests = 9'000;          // per policy
constexpr int kRequestsOfAService = 300;  // at most: a job that has failed makes room for the next

class MutationTest : public ::testing::TestWithParam<UpdatePolicy> {};

// A service for one sequence of requests.
class Victim : public ServiceFixture {
 public:
  Victim(UpdatePolicy policy, const RngKey& key) : ServiceFixture(policy), draws_(key) {
    for (uint32_t t = 0; t < 2; ++t) Introduce(t);
    for (uint32_t t = 0; t < 2; ++t) {
      HandleWaiting(Head(wire::METHOD_ENTER_ROUNDS, ++sequence_, t));
    }
  }

  void SendChanged() {
    wire::RequestHead head = Sensible();
    TensorWriter tensors = Tensors(head);
    const wire::RequestHead sensible = head;
    for (uint64_t n = draws_.Below(4); n > 0; --n) ChangeMessage(&head, &draws_);
    // Otherwise nearly all requests would be rejected by the first checks.
    if (!draws_.OneIn(10)) Restore(sensible, &head);
    Payload payload = EncodeRequest(head, tensors);
    // The directory must not be changed to one outside the test.
    const bool has_path = head.has_save() || head.has_load();
    Handle(draws_.OneIn(3) && !has_path ? ChangeBytes(payload, &draws_) : payload);
    if (draws_.OneIn(8)) {
      clock_.AdvanceMs(static_cast<int64_t>(draws_.Below(800)));
      service_->Tick();
    }
  }

  bool failed() { return !service_->liveness().status().ok(); }

  // Ends the job and checks that every request was answered, once.
  void End() {
    service_->Fail(absl::AbortedError("the end"));
    service_ = nullptr;  // joins what writes and loads
    for (const std::atomic<int>& count : answers_) ASSERT_EQ(count, 1);
  }

 private:
  void Handle(const Payload& payload) {
    std::atomic<int>& count = answers_.emplace_back(0);
    service_->Handle(payload, [&count](StatusOr<Payload> reply) {
      ++count;
      EXPECT_TRUE(reply.ok()) << reply.status();
      if (!reply.ok()) return;
      EXPECT_TRUE(DecodeResponse(*std::move(reply)).ok());
    });
  }
  void HandleWaiting(const wire::RequestHead& head) { Handle(EncodeRequest(head, {})); }

  // A request of any method that trainers make.
  wire::RequestHead Sensible() {
    const auto method = static_cast<wire::Method>(1 + draws_.Below(16));
    const auto trainer = static_cast<uint32_t>(draws_.Below(2));
    wire::RequestHead head = Head(method, ++sequence_, trainer);
    switch (method) {
      case wire::METHOD_HANDSHAKE:
        return HandshakeOf(trainer);
      case wire::METHOD_PULL:
        head.mutable_pull()->add_tables(0);
        head.mutable_pull()->set_create_missing(true);
        break;
      case wire::METHOD_PUSH: {
        const auto kind = static_cast<wire::PushKind>(1 + draws_.Below(3));
        return PushOf(kind, sequence_, trainer);
      }
      case wire::METHOD_COLLECTIVE:
        head.mutable_collective()->set_kind(static_cast<wire::CollectiveKind>(1 + draws_.Below(3)));
        head.mutable_collective()->add_to(1 - trainer);
        break;
      case wire::METHOD_READ_ROWS:
        head.mutable_read_rows()->set_max_rows(100);
        break;
      case wire::METHOD_WRITE_ROWS:
        head.mutable_write_rows();
        break;
      case wire::METHOD_WRITE_DENSE:
        head.mutable_write_dense();
        break;
      case wire::METHOD_SAVE:
        head.mutable_save()->set_phase(static_cast<wire::SavePhase>(1 + draws_.Below(5)));
        head.mutable_save()->add_tables(0);
        head.mutable_save()->set_directory("/nowhere/at/all");
        break;
      case wire::METHOD_LOAD:
        head.mutable_load()->set_phase(static_cast<wire::LoadPhase>(draws_.Below(5)));
        head.mutable_load()->set_directory("/nowhere/at/all");
        break;
      case wire::METHOD_STOP:
        head.mutable_stop();
        [[fallthrough]];
      case wire::METHOD_ABORT:
        // Both end the run, so they are rare.
        if (!draws_.OneIn(20)) head.set_method(wire::METHOD_PING);
        break;
      default:
        break;
    }
    return head;
  }

  TensorWriter Tensors(const wire::RequestHead& head) {
    TensorWriter tensors;
    for (uint64_t n = draws_.Below(3); n > 0 && draws_.OneIn(6); --n) {
      tensors.AddOwned(std::vector<uint8_t>(draws_.Below(30)));
    }
    if (head.has_collective()) {
      if (head.collective().kind() == wire::COLLECTIVE_SUM) {
        tensors.AddOwned(std::vector<double>(3, 1));
      } else {
        tensors.AddOwned(std::vector<uint8_t>(5, 1));
      }
    } else if (head.load().phase() == wire::LOAD_ROWS) {
      const std::vector<uint64_t> ids = {draws_.Number(), draws_.Number()};
      tensors.AddOwned(ids);
      tensors.AddOwned(AlignedVector<float>(2 * ids.size(), 1));
      tensors.AddOwned(AlignedVector<float>(draws_.OneIn(4) ? 2 * ids.size() : 0));
      tensors.AddOwned(std::vector<uint64_t>(draws_.OneIn(4) ? ids.size() : 0));
    } else if (head.load().phase() == wire::LOAD_DENSE) {
      tensors.AddOwned(AlignedVector<float>(draws_.OneIn(4) ? 3 : 20, 1));
      tensors.AddOwned(AlignedVector<float>(draws_.OneIn(4) ? 20 : 0));
    } else if (head.has_write_dense()) {
      tensors.AddOwned(AlignedVector<float>(draws_.Below(25), 1));
    } else if (head.has_pull()) {
      tensors.AddOwned(std::vector<uint64_t>{draws_.Number(), draws_.Number()});
    } else if (head.has_push() || head.has_write_rows()) {
      const std::vector<uint64_t> ids = {draws_.Number(), draws_.Number()};
      tensors.AddOwned(ids);
      tensors.AddOwned(AlignedVector<float>(2 * ids.size(), 1));
    }
    return tensors;
  }

  // Restores the fields that identify the sender, and others that are only compared.
  static void Restore(const wire::RequestHead& from, wire::RequestHead* head) {
    head->set_protocol_version(from.protocol_version());
    head->set_method(from.method());
    head->set_sender_kind(from.sender_kind());
    head->set_sender_index(from.sender_index());
    head->set_incarnation(from.incarnation());
    head->set_shard_map_version(from.shard_map_version());
  }

  Draws draws_;
  uint64_t sequence_ = 0;
  std::deque<std::atomic<int>> answers_;  // one per request
};

TEST_P(MutationTest, EveryRequestIsAnsweredOnceWhateverItSays) {
  int sent = 0;
  for (uint64_t run = 0; sent < kRequests; ++run) {
    Victim victim(GetParam(), RngKey(static_cast<uint64_t>(GetParam())).With(run));
    for (int i = 0; i < kRequestsOfAService && !victim.failed(); ++i, ++sent) victim.SendChanged();
    victim.End();
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, MutationTest,
                         ::testing::Values(UpdatePolicy::kOnArrival, UpdatePolicy::kOnBarrier,
                                           UpdatePolicy::kAddDelta),
                         [](const auto& each) {
                           return "Policy" + std::to_string(static_cast<int>(each.param));
                         });

}  // namespace
}  // namespace flotilla
