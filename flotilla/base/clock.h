// Time as a collaborator: components take a Clock, tests give them one that they move by hand.
// Steady: never the wall clock, which may jump.
#pragma once

#include <chrono>
#include <cstdint>

namespace flotilla {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  // Nanoseconds since some fixed moment.
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
