// The same work on many items, on several threads, up to the first error.
#pragma once

#include <cstdint>
#include <functional>

#include "flotilla/base/status.h"

namespace flotilla {

// Calls work(i) for every i in [0, count), in ascending order of their beginning, `threads` at
// once. After an error no further item is begun; returns the error that came first, when all that
// were under way have returned. REQUIRES: threads >= 1.
Status ParallelFor(int threads, uint64_t count, const std::function<Status(uint64_t i)>& work);

}  // namespace flotilla
