// Gradients on their way to the servers: buffers that go around between workers and the transport.
// A push takes the step's buffers as they are and gives it others in exchange, so that nothing is
// copied and, once there are enough of them, nothing is allocated.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "flotilla/tensor/gradients.h"

namespace flotilla {

// Thread-safe. What was taken may outlive it.
class GradientBuffers {
 public:
  GradientBuffers() : free_(std::make_shared<Free>()) {}

  // The content of `gradients`, which gets buffers of any content instead. They come back for reuse
  // when the last owner lets them go.
  std::shared_ptr<Gradients> Exchange(Gradients& gradients) {
    std::unique_ptr<Gradients> taken = free_->Take();
    std::swap(*taken, gradients);
    return std::shared_ptr<Gradients>(taken.release(), [free = free_](Gradients* back) {
      free->Put(std::unique_ptr<Gradients>(back));
    });
  }

 private:
  class Free {
   public:
    std::unique_ptr<Gradients> Take() {
      std::lock_guard lock(mutex_);
      if (buffers_.empty()) return std::make_unique<Gradients>();
      std::unique_ptr<Gradients> taken = std::move(buffers_.back());
      buffers_.pop_back();
      return taken;
    }
    void Put(std::unique_ptr<Gradients> buffer) {
      std::lock_guard lock(mutex_);
      buffers_.push_back(std::move(buffer));
    }

   private:
    std::mutex mutex_;
    std::vector<std::unique_ptr<Gradients>> buffers_;  // guarded by mutex_
  };

  const std::shared_ptr<Free> free_;
};

}  // namespace flotilla
