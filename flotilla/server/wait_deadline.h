// When a wait that a request asks for is over.
#pragma once

#include <algorithm>
#include <cstdint>

#include "flotilla/base/clock.h"

namespace flotilla {

// On the clock's scale. What a request says is not trusted: no wait is longer than a year, and none
// is negative.
inline int64_t WaitDeadlineNanos(const Clock& clock, int64_t timeout_ms) {
  constexpr int64_t kYearMs = int64_t{365} * 24 * 3600 * 1000;
  return clock.NowNanos() + std::clamp<int64_t>(timeout_ms, 0, kYearMs) * 1'000'000;
}

}  // namespace flotilla
