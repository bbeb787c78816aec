#include "flotilla/communicator/half_async_communicator.h"

namespace flotilla {

StatusOr<std::unique_ptr<HalfAsyncCommunicator>> HalfAsyncCommunicator::Make(PsClient* client) {
  FL_RETURN_IF_ERROR(CheckModelSpec(client->spec()));
  std::unique_ptr<HalfAsyncCommunicator> made(new HalfAsyncCommunicator(client));
  FL_RETURN_IF_ERROR(made->RefreshDense());
  return made;
}

StatusOr<std::unique_ptr<PendingCall>> HalfAsyncCommunicator::Start(Gradients& mean, int batches) {
  return StartPushAndRefresh(PushKind::kOnArrival, mean, batches, &last_push_);
}

StatusOr<std::unique_ptr<PendingCall>> HalfAsyncCommunicator::StartPull(
    int /*worker*/, Missing missing, std::span<SparseRows> rows) {
  return std::make_unique<PendingServerCall>(client().StartPull(missing, rows, last_push_));
}

Status HalfAsyncCommunicator::Push(int /*worker*/, Gradients& gradients) {
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<PendingCall> push, Start(gradients, 1));
  return push->Wait();
}

}  // namespace flotilla
