// Limits the rate of progress lines: at most one per interval.
#pragma once

#include <atomic>
#include <cstdint>

#include "flotilla/base/clock.h"

namespace flotilla {

// Seconds between two points of the curves of a run.
inline constexpr double kPointSeconds = 0.2;

// Thread-safe. The first interval starts at construction.
class Throttle {
 public:
  // REQUIRES: clock outlives the object.
  Throttle(const Clock* clock, double interval_seconds)
      : clock_(clock),
        interval_nanos_(static_cast<int64_t>(interval_seconds * 1e9)),
        next_nanos_(clock->NowNanos() + interval_nanos_) {}

  // Returns true to one caller when the interval is over; the next interval then starts.
  bool Due() {
    const int64_t now = clock_->NowNanos();
    int64_t next = next_nanos_.load(std::memory_order_relaxed);
    return now >= next && next_nanos_.compare_exchange_strong(next, now + interval_nanos_,
                                                              std::memory_order_relaxed);
  }

 private:
  const Clock* const clock_;
  const int64_t interval_nanos_;
  std::atomic<int64_t> next_nanos_;
};

// Seconds between two progress lines.
inline constexpr double kProgressSeconds = 3;

}  // namespace flotilla
