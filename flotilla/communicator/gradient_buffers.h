// Reuses the buffers of gradients that are sent to the servers. A push takes the buffers of a step
// without copying and gives it others in exchange; once there are enough of them, nothing is
// allocated.
#pragma once

#include <memory>
#include <utility>

#include "flotilla/base/reused.h"
#include "flotilla/tensor/gradients.h"

namespace flotilla {

// Thread-safe. Taken gradients may outlive it.
class GradientBuffers {
 public:
  // Takes the content of `gradients`, which gets buffers of any content instead. The taken buffers
  // are returned for reuse when the last owner releases them.
  std::shared_ptr<Gradients> Exchange(Gradients& gradients) {
    std::shared_ptr<Gradients> taken = buffers_.Take();
    std::swap(*taken, gradients);
    return taken;
  }

 private:
  Reused<Gradients> buffers_;
};

}  // namespace flotilla
