// Gradients on their way to the servers: buffers that go around between workers and the transport.
// A push takes the step's buffers as they are and gives it others in exchange, so that nothing is
// copied and, once there are enough of them, nothing is allocated.
#pragma once

#include <memory>
#include <utility>

#include "flotilla/base/reused.h"
#include "flotilla/tensor/gradients.h"

namespace flotilla {

// Thread-safe. What was taken may outlive it.
class GradientBuffers {
 public:
  // The content of `gradients`, which gets buffers of any content instead. They come back for reuse
  // when the last owner lets them go.
  std::shared_ptr<Gradients> Exchange(Gradients& gradients) {
    std::shared_ptr<Gradients> taken = buffers_.Take();
    std::swap(*taken, gradients);
    return taken;
  }

 private:
  Reused<Gradients> buffers_;
};

}  // namespace flotilla
