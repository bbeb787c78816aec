// A clock that a test moves by hand.
#pragma once

#include <atomic>
#include <cstdint>

#include "flotilla/base/clock.h"

namespace flotilla {

class ManualClock : public Clock {
 public:
  int64_t NowNanos() const override { return nanos_; }
  void AdvanceMs(int64_t ms) { nanos_ += ms * 1'000'000; }

 private:
  std::atomic<int64_t> nanos_ = 1;
};

}  // namespace flotilla
