// Utilities for tests of the service: a service with a small model, and valid requests of its two
// trainers.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/manual_clock_testing.h"
#include "flotilla/optim/sgd.h"
#include "flotilla/rpc/model_text.h"
#include "flotilla/server/ps_service.h"

namespace flotilla {

class ServiceFixture {
 public:
  explicit ServiceFixture(UpdatePolicy policy = UpdatePolicy::kOnArrival) {
    spec_.parameters.push_back({.name = "w", .shape = {20}});
    spec_.tables.push_back({.name = "emb", .dim = 2});
    spec_.optimizer = Sgd(1);
    PsServiceOptions options;
    options.job_id = "job";
    options.policy = policy;
    options.liveness.trainers = 2;
    service_ = *PsService::Make(spec_, options, &clock_, {});
  }

  static wire::RequestHead Head(wire::Method method, uint64_t sequence = 0, uint32_t trainer = 0) {
    wire::RequestHead head;
    head.set_protocol_version(kProtocolVersion);
    head.set_method(method);
    head.set_job_id("job");
    head.set_sender_kind(wire::SENDER_TRAINER);
    head.set_sender_index(trainer);
    head.set_incarnation(1);
    head.set_sequence(sequence);
    head.set_shard_map_version(1);
    return head;
  }
  wire::RequestHead HandshakeOf(uint32_t trainer) const {
    wire::RequestHead head = Head(wire::METHOD_HANDSHAKE, 0, trainer);
    head.mutable_handshake()->set_servers(1);
    head.mutable_handshake()->set_trainers(2);
    head.mutable_handshake()->set_model_text(ModelText(spec_, ""));
    return head;
  }
  static wire::RequestHead PushOf(wire::PushKind kind, uint64_t sequence, uint32_t trainer = 0) {
    wire::RequestHead head = Head(wire::METHOD_PUSH, sequence, trainer);
    head.mutable_push()->set_kind(kind);
    head.mutable_push()->add_tables(0);
    head.mutable_push()->set_batches(1);
    return head;
  }
  // A push to emb, with these ids and this many values.
  static TensorWriter Rows(std::vector<uint64_t> ids, size_t values) {
    TensorWriter tensors;
    tensors.AddOwned(std::move(ids));
    tensors.AddOwned(AlignedVector<float>(values, 1));
    return tensors;
  }

  // A request that is answered at once.
  ResponseMessage Send(const Payload& payload) {
    StatusOr<Payload> answer = absl::UnknownError("no answer");
    service_->Handle(payload, [&](StatusOr<Payload> reply) { answer = std::move(reply); });
    EXPECT_TRUE(answer.ok()) << answer.status();
    return *DecodeResponse(*std::move(answer));
  }
  Status Ask(const wire::RequestHead& head, const TensorWriter& tensors = {}) {
    return StatusOf(Send(EncodeRequest(head, tensors)).head);
  }
  void Introduce(uint32_t trainer = 0) {
    const Status status = Ask(HandshakeOf(trainer));
    ASSERT_TRUE(status.ok()) << status;
  }

 protected:
  ManualClock clock_;
  ModelSpec spec_;
  std::unique_ptr<PsService> service_;
};

}  // namespace flotilla
