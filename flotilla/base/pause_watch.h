// Detects that this process did not run for a while: it was stopped, or its machine was frozen. A
// process must rule out a pause of its own before it declares a silent peer dead.
#pragma once

#include <atomic>
#include <cstdint>

namespace flotilla {

// Look is for one thread; Late is thread-safe.
class PauseWatch {
 public:
  // One thread calls Look every `interval_ms`. A call may be late by up to `slack_ms`.
  PauseWatch(int64_t interval_ms, int64_t slack_ms)
      : interval_nanos_(interval_ms * 1'000'000), slack_nanos_(slack_ms * 1'000'000) {}

  // Returns for how many nanoseconds this process did not run since the last call; 0 for the first
  // call and when the call is late by no more than the slack. `now_nanos` is the time of a steady
  // clock.
  int64_t Look(int64_t now_nanos) {
    const int64_t late = Late(now_nanos);
    last_nanos_ = now_nanos;
    return late;
  }
  // Returns what Look would return: for other threads, which may wake up before the looking one.
  int64_t Late(int64_t now_nanos) const {
    const int64_t last = last_nanos_;
    if (last == kNever) return 0;
    const int64_t late = now_nanos - last - interval_nanos_;
    return late > slack_nanos_ ? late : 0;
  }

 private:
  static constexpr int64_t kNever = INT64_MIN;

  const int64_t interval_nanos_;
  const int64_t slack_nanos_;
  std::atomic<int64_t> last_nanos_ = kNever;
};

}  // namespace flotilla
