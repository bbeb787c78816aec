#include "flotilla/communicator/half_async_communicator.h"

namespace flotilla {

StatusOr<std::unique_ptr<HalfAsyncCommunicator>> HalfAsyncCommunicator::Make(PsClient* client) {
  FL_RETURN_IF_ERROR(CheckModelSpec(client->spec()));
  std::unique_ptr<HalfAsyncCommunicator> made(new HalfAsyncCommunicator(client));
  FL_RETURN_IF_ERROR(made->RefreshDense());
  return made;
}

Status HalfAsyncCommunicator::Push(int /*worker*/, Gradients& gradients) {
  return PushAndRefresh(PushKind::kOnArrival, gradients);
}

}  // namespace flotilla
