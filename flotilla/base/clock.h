// Time as an injected dependency: components take a Clock, and tests pass one that they advance by
// hand. The clock is steady: never the wall clock, which may jump.
#pragma once

#include <chrono>
#include <cstdint>

namespace flotilla {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since an arbitrary fixed point in time.
  virtual int64_t NowNanos() const = 0;
};

class SteadyClock : public Clock {
 public:
  int64_t NowNanos() const override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::steady_clock::now().time_since_epoch())
        .count();
  }
};

}  // namespace flotilla
