// The first error of several threads, which ends the work of all of them.
#pragma once

#include <atomic>
#include <utility>

#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"

namespace flotilla {

// Thread-safe.
class FirstError {
 public:
  // Keeps the status if it is an error and no other came before it.
  void Update(Status status) {
    if (status.ok()) return;
    MutexLock lock(mutex_);
    if (first_.ok()) first_ = std::move(status);
    any_.store(true, std::memory_order_relaxed);
  }

  // Whether there was an error; cheap enough for every step of a loop.
  bool any() const { return any_.load(std::memory_order_relaxed); }
  // OK if there was none.
  Status status() const {
    MutexLock lock(mutex_);
    return first_;
  }

 private:
  mutable Mutex mutex_;
  Status first_ FL_GUARDED_BY(mutex_);
  std::atomic<bool> any_ = false;
};

}  // namespace flotilla
