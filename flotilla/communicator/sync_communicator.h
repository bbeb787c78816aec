// The synchronous mode: the servers add the gradients of a round in trainer order, update once with
// their mean, and every trainer continues from the same parameters. W trainers of T workers with
// batches of b rows train as one process that averages the gradients of W x T batches; the result
// has the same bits in every run and for any number of servers.
#pragma once

#include <memory>

#include "flotilla/communicator/server_communicator.h"

namespace flotilla {

class SyncCommunicator : public ServerCommunicator {
 public:
  // Errors name the invalid part of the client's spec, or the server that failed. REQUIRES: the
  // client is connected to its servers, which apply on barrier, and outlives the communicator.
  static StatusOr<std::unique_ptr<SyncCommunicator>> Make(PsClient* client);

  // A round ends when the last trainer has pushed, possibly much later; nothing is pulled before
  // that.
  Schedule schedule() const override { return {.joined = true, .ahead = Schedule::Ahead::kRead}; }
  // Its Wait returns when every trainer of the round has pushed and the update is made; dense()
  // then holds its result. REQUIRES: an epoch has begun.
  StatusOr<Pending> StartPush(int worker, Gradients& gradients, int batches) override;
  // Completes the round for this trainer: the mean is that of the others.
  StatusOr<Pending> StartSkip(int worker) override;
  bool pauses_after_rounds() const override { return true; }
  uint64_t pauses_asked() const override { return client().pauses_in_rounds(); }

 private:
  explicit SyncCommunicator(PsClient* client) : ServerCommunicator(client) {}

  // Enters the rounds; waits until every trainer has entered. A trainer without data enters too,
  // and leaves at once with Flush.
  Status DoBeginEpoch(const EpochStart& start) override;
  // Leaves the rounds: the others continue without this trainer until the next epoch.
  Status DoFlush() override;

  bool in_rounds_ = false;
};

}  // namespace flotilla
