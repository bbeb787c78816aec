// Runs a function on many items on several threads, stopping at the first error.
#pragma once

#include <cstdint>
#include <functional>

#include "flotilla/base/status.h"

namespace flotilla {

// Calls work(i) for every i in [0, count) on `threads` threads; items are started in ascending
// order. After an error no further item is started; returns the first error once all running items
// have returned. REQUIRES: threads >= 1.
Status ParallelFor(int threads, uint64_t count, const std::function<Status(uint64_t i)>& work);

}  // namespace flotilla
