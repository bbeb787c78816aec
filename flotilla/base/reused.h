// A pool of reusable objects: large buffers that circulate between threads, so that nothing is
// allocated once the pool is large enough, and buffers that will be overwritten anyway are not
// cleared.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "flotilla/base/mutex.h"

namespace flotilla {

// Thread-safe. Values taken from the pool may outlive it. The pool keeps as many values as were
// ever in use at the same time.
template <typename T>
class Reused {
 public:
  Reused() : free_(std::make_shared<Free>()) {}

  // Returns a value with unspecified content: a new one, or one that its last owner has released.
  std::shared_ptr<T> Take() {
    return std::shared_ptr<T>(free_->Take().release(),
                              [free = free_](T* back) { free->Put(std::unique_ptr<T>(back)); });
  }

 private:
  class Free {
   public:
    std::unique_ptr<T> Take() {
      MutexLock lock(mutex_);
      if (values_.empty()) return std::make_unique<T>();
      std::unique_ptr<T> taken = std::move(values_.back());
      values_.pop_back();
      return taken;
    }
    void Put(std::unique_ptr<T> value) {
      MutexLock lock(mutex_);
      values_.push_back(std::move(value));
    }

   private:
    Mutex mutex_;
    std::vector<std::unique_ptr<T>> values_ FL_GUARDED_BY(mutex_);
  };

  const std::shared_ptr<Free> free_;
};

}  // namespace flotilla
