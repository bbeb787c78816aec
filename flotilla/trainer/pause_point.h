// Where the workers of an epoch wait for each other between two batches, when somebody asked for
// it: the last to arrive does what must be done while nobody computes, and all go on. Without a
// request a worker passes at the cost of reading one flag.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>

#include "flotilla/base/status.h"

namespace flotilla {

// Thread-safe but for Start. Waiting ends when every worker has arrived or left, so it lasts as
// long as the longest batch under way.
class PausePoint {
 public:
  // Begins an epoch of so many workers. REQUIRES: none of them has begun.
  void Start(int workers);

  // The next time all workers stand here, `Arrive` does its work. Requests do not add up.
  void Request() { requested_.store(true, std::memory_order_relaxed); }
  bool requested() const { return requested_.load(std::memory_order_relaxed); }

  // Called by each worker between two batches. The error of `work` is returned to all who waited.
  Status Arrive(const std::function<Status()>& work);

  // Called by each worker when it takes no more batches: nobody waits for it any longer. It does
  // the work if the others wait for nobody else.
  Status Leave(const std::function<Status()>& work);

 private:
  // Runs the work and wakes those who wait. REQUIRES: mutex_ is held.
  Status Finish(const std::function<Status()>& work);

  std::atomic<bool> requested_ = false;
  std::mutex mutex_;
  std::condition_variable done_;
  int present_ = 0;   // guarded by mutex_: workers that have not left
  int waiting_ = 0;   // guarded by mutex_
  int finished_ = 0;  // guarded by mutex_: pauses so far
  Status result_;     // guarded by mutex_: of the last pause
};

}  // namespace flotilla
