#include "flotilla/communicator/sync_communicator.h"

namespace flotilla {

StatusOr<std::unique_ptr<SyncCommunicator>> SyncCommunicator::Make(PsClient* client) {
  FL_RETURN_IF_ERROR(CheckModelSpec(client->spec()));
  std::unique_ptr<SyncCommunicator> made(new SyncCommunicator(client));
  FL_RETURN_IF_ERROR(made->RefreshDense());
  return made;
}

Status SyncCommunicator::Push(int /*worker*/, Gradients& gradients) {
  return PushAndRefresh(PushKind::kInRound, gradients);
}

Status SyncCommunicator::BeginEpoch() {
  if (!in_rounds_) FL_RETURN_IF_ERROR(client().EnterRounds());
  in_rounds_ = true;
  // Nothing is applied before this trainer's own first push, so all start from the same values.
  return RefreshDense();
}

Status SyncCommunicator::Flush() {
  if (!in_rounds_) return absl::OkStatus();
  in_rounds_ = false;
  FL_RETURN_IF_ERROR(client().LeaveRounds());
  return RefreshDense();
}

}  // namespace flotilla
