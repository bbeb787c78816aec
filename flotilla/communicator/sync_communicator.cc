#include "flotilla/communicator/sync_communicator.h"

namespace flotilla {

StatusOr<std::unique_ptr<SyncCommunicator>> SyncCommunicator::Make(PsClient* client) {
  FL_RETURN_IF_ERROR(CheckModelSpec(client->spec()));
  std::unique_ptr<SyncCommunicator> made(new SyncCommunicator(client));
  FL_RETURN_IF_ERROR(made->RefreshDense());
  return made;
}

StatusOr<Pending> SyncCommunicator::StartPush(int /*worker*/, Gradients& gradients, int batches) {
  return StartPushAndRefresh(PushKind::kInRound, gradients, batches);
}

StatusOr<Pending> SyncCommunicator::StartSkip(int /*worker*/) { return StartEmptyPush(); }

Status SyncCommunicator::DoBeginEpoch(const EpochStart& /*start*/) {
  if (!in_rounds_) FL_RETURN_IF_ERROR(client().EnterRounds());
  in_rounds_ = true;
  // Nothing is applied before this trainer's own first push, so all start from the same values.
  return RefreshDense();
}

Status SyncCommunicator::DoFlush() {
  if (!in_rounds_) return absl::OkStatus();
  in_rounds_ = false;
  FL_RETURN_IF_ERROR(client().LeaveRounds());
  return RefreshDense();
}

}  // namespace flotilla
