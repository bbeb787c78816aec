// A barrier between two batches at which the workers of an epoch wait for each other if a pause was
// requested: the last to arrive runs the work that must be done while no worker computes, then all
// continue. Without a request a worker only reads one flag.
#pragma once

#include <atomic>
#include <functional>

#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"

namespace flotilla {

// Thread-safe except for Start. Waiting ends when every worker has arrived or left, so it lasts as
// long as the longest running batch.
class PausePoint {
 public:
  // Begins an epoch of `workers` workers. REQUIRES: none of them has begun.
  void Start(int workers);

  // Requests a pause: the next time all workers have arrived, `Arrive` runs its work. Several
  // requests before that count as one.
  void Request() { requested_.store(true, std::memory_order_relaxed); }
  bool requested() const { return requested_.load(std::memory_order_relaxed); }

  // Called by each worker between two batches. The error of `work` is returned to all waiting
  // workers.
  Status Arrive(const std::function<Status()>& work);

  // Called by each worker when it takes no more batches: the others no longer wait for it. It runs
  // the work if all others are already waiting.
  Status Leave(const std::function<Status()>& work);

 private:
  // Runs the work and wakes the waiting workers.
  Status Finish(const std::function<Status()>& work) FL_REQUIRES(mutex_);

  std::atomic<bool> requested_ = false;
  Mutex mutex_;
  CondVar done_;
  int present_ FL_GUARDED_BY(mutex_) = 0;  // workers that have not left
  int waiting_ FL_GUARDED_BY(mutex_) = 0;
  int finished_ FL_GUARDED_BY(mutex_) = 0;  // pauses so far
  Status result_ FL_GUARDED_BY(mutex_);     // of the last pause
};

}  // namespace flotilla
