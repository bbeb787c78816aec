// A request of another thread that a long task end early: what base/stop_signal.h is for programs
// that own the process's signals.
#pragma once

#include <atomic>

#include "flotilla/base/interrupt.h"

namespace flotilla {

// Made at most once. Thread-safe.
class StopRequest {
 public:
  // Raises the interrupt too, so that waits for data end.
  void Make() {
    made_.store(true, std::memory_order_relaxed);
    interrupt_.Raise(absl::CancelledError("stopped by the program"));
  }
  bool made() const { return made_.load(std::memory_order_relaxed); }
  Interrupt* interrupt() { return &interrupt_; }

 private:
  std::atomic<bool> made_ = false;
  Interrupt interrupt_;
};

}  // namespace flotilla
