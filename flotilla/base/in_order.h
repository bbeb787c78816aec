// Lets threads that work in parallel commit their results in a fixed order.
#pragma once

#include <cstdint>

#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"

namespace flotilla {

// Thread-safe. Turns count from 0, and each must come exactly once, unless there is an error.
class InOrder {
 public:
  // Waits until all turns before this one have ended, then runs commit(), which returns a Status;
  // no other commit runs meanwhile. Returns false after an error, of this turn or of an earlier
  // one, in which case commit() may not have been called. A thread must not wait for one with a
  // later turn.
  template <typename Commit>
  bool Run(int64_t turn, Commit commit) {
    {
      MutexLock lock(mutex_);
      while (turn_ != turn && error_.ok()) changed_.wait(mutex_);
      if (!error_.ok()) return false;
    }
    // Having the turn acts as a lock.
    const Status status = commit();
    MutexLock lock(mutex_);
    ++turn_;
    if (error_.ok()) error_ = status;
    changed_.notify_all();
    return error_.ok();
  }

  // Ends all waits with an error, unless there is one already.
  void Fail(const Status& status) {
    MutexLock lock(mutex_);
    if (error_.ok()) error_ = status;
    changed_.notify_all();
  }

  // The first error.
  Status status() {
    MutexLock lock(mutex_);
    return error_;
  }

 private:
  Mutex mutex_;
  CondVar changed_;
  int64_t turn_ FL_GUARDED_BY(mutex_) = 0;
  Status error_ FL_GUARDED_BY(mutex_);
};

}  // namespace flotilla
