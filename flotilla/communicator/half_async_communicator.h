// The mode between sync and async: the workers of one trainer compute a batch each, and the mean of
// their gradients is pushed once. The trainer continues when the push is applied; it does not wait
// for other trainers.
#pragma once

#include <memory>
#include <span>

#include "flotilla/communicator/server_communicator.h"

namespace flotilla {

class HalfAsyncCommunicator : public ServerCommunicator {
 public:
  // Errors name the invalid part of the client's spec, or the server that failed. REQUIRES: the
  // client is connected to its servers, which apply on arrival, and outlives the communicator.
  static StatusOr<std::unique_ptr<HalfAsyncCommunicator>> Make(PsClient* client);

  Schedule schedule() const override {
    return {.joined = true, .ahead = Schedule::Ahead::kPullBehindPush};
  }
  // The servers answer a pull after they have applied the last push.
  StatusOr<Pending> StartPull(int worker, Missing missing, std::span<SparseRows> rows) override;
  // Its Wait returns when the servers have applied the gradients; dense() then equals their values.
  StatusOr<Pending> StartPush(int worker, Gradients& gradients, int batches) override;

 private:
  explicit HalfAsyncCommunicator(PsClient* client) : ServerCommunicator(client) {}

  // Push has already applied everything; this only brings the changes of other trainers.
  Status DoFlush() override { return RefreshDense(); }

  PushSequences last_push_;
};

}  // namespace flotilla
