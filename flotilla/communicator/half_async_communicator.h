// The mode between sync and async: the workers of one trainer compute a batch each, and the mean of
// their gradients is pushed once; the push is applied when the trainer goes on; other trainers are
// not waited for.
#pragma once

#include <memory>
#include <span>

#include "flotilla/communicator/server_communicator.h"

namespace flotilla {

class HalfAsyncCommunicator : public ServerCommunicator {
 public:
  // An error says what in the client's spec is wrong, or which server failed. REQUIRES: the client
  // has met its servers, which apply on arrival, and outlives the communicator.
  static StatusOr<std::unique_ptr<HalfAsyncCommunicator>> Make(PsClient* client);

  Schedule schedule() const override {
    return {.joined = true, .ahead = Schedule::Ahead::kPullBehindPush};
  }
  // The servers answer when they have applied the last push.
  StatusOr<Pending> StartPull(int worker, Missing missing, std::span<SparseRows> rows) override;
  // Its Wait returns when the servers have applied the gradients; dense() is then what they have.
  StatusOr<Pending> StartPush(int worker, Gradients& gradients, int batches) override;

 private:
  explicit HalfAsyncCommunicator(PsClient* client) : ServerCommunicator(client) {}

  // Push has applied everything already; brings what other trainers did meanwhile.
  Status DoFlush() override { return RefreshDense(); }

  PushSequences last_push_;
};

}  // namespace flotilla
