#include "flotilla/communicator/half_async_communicator.h"

namespace flotilla {

StatusOr<std::unique_ptr<HalfAsyncCommunicator>> HalfAsyncCommunicator::Make(PsClient* client) {
  FL_RETURN_IF_ERROR(CheckModelSpec(client->spec()));
  std::unique_ptr<HalfAsyncCommunicator> made(new HalfAsyncCommunicator(client));
  FL_RETURN_IF_ERROR(made->RefreshDense());
  return made;
}

StatusOr<Pending> HalfAsyncCommunicator::StartPush(int /*worker*/, Gradients& gradients,
                                                   int batches) {
  return StartPushAndRefresh(PushKind::kOnArrival, gradients, batches, &last_push_);
}

StatusOr<Pending> HalfAsyncCommunicator::StartPull(int /*worker*/, Missing missing,
                                                   std::span<SparseRows> rows) {
  return Pending(client().StartPull(missing, rows, last_push_));
}

}  // namespace flotilla
