// Cancels all blocking waits of one run: the program received a signal, or the job has ended. A
// component that may block for long (on a pipe command, on a batch) takes a pointer to an Interrupt
// at construction, polls its descriptor in addition to its own, and returns its status as the
// error.
#pragma once

#include <atomic>

#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"

namespace flotilla {

// Raised at most once; it stays raised. Thread-safe.
class Interrupt {
 public:
  // Aborts when the process has no file descriptor left.
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Has no effect when already raised. REQUIRES: !cause.ok().
  void Raise(const Status& cause);
  // Like Raise, for signal handlers: async-signal-safe. The cause is Cancelled and names the
  // signal.
  void RaiseSignal(int signal);

  // Costs one atomic load: cheap enough to check before every read.
  bool raised() const { return state_.load(std::memory_order_acquire) != 0; }
  // Ok until it is raised, then the cause.
  Status status() const;
  // Becomes readable for poll(2) once raised. Callers must not read from it.
  int fd() const { return fd_; }

 private:
  void Wake() const;

  const int fd_;
  // 0: not raised; > 0: raised by the signal of this number; -1: raised with cause_.
  std::atomic<int> state_ = 0;
  static_assert(std::atomic<int>::is_always_lock_free);  // for signal handlers
  mutable Mutex mutex_;
  Status cause_ FL_GUARDED_BY(mutex_);
};

// Waits until fd is readable, at its end or broken. Returns the interrupt's status when it is
// raised first. `interrupt` may be null.
Status AwaitReadable(int fd, const Interrupt* interrupt);

}  // namespace flotilla
