// Why everything that waits on behalf of one run must give up: the program got a signal, or the job
// has ended. Whoever may wait for long (for a pipe command, for a batch) is given a pointer to one
// at construction, polls its descriptor beside its own, and returns its status as the error.
#pragma once

#include <atomic>
#include <mutex>

#include "flotilla/base/status.h"

namespace flotilla {

// Raised at most once; it stays raised. Thread-safe.
class Interrupt {
 public:
  // Aborts when the process has no descriptor left.
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Does nothing when it has been raised before. REQUIRES: !cause.ok().
  void Raise(const Status& cause);
  // Raise for signal handlers: async-signal-safe. The cause is Cancelled and names the signal.
  void RaiseSignal(int signal);

  // Costs one load: ask before every read.
  bool raised() const { return state_.load(std::memory_order_acquire) != 0; }
  // Ok until it is raised, then the cause.
  Status status() const;
  // Readable for poll(2) once it is raised. Nobody may read from it.
  int fd() const { return fd_; }

 private:
  void Wake() const;

  const int fd_;
  // 0: not raised; a signal's number; -1: cause_ says it.
  std::atomic<int> state_ = 0;
  static_assert(std::atomic<int>::is_always_lock_free);  // for signal handlers
  mutable std::mutex mutex_;
  Status cause_;  // guarded by mutex_
};

// Waits until fd can be read, is at its end or is broken; the interrupt's status when that is
// raised before. `interrupt` may be null.
Status AwaitReadable(int fd, const Interrupt* interrupt);

}  // namespace flotilla
