// The gradient of a dense parameter, computed part by part on demand: an update rule requests a
// part, applies it while it is in the caches, and requests the next.
#pragma once

#include <cstdint>
#include <span>

#include "absl/functional/function_ref.h"

namespace flotilla {

// Returns the gradient of the elements [begin, begin + length) of the parameter, valid until the
// next call. Every element may be requested once, in any order, in parts that are whole rows of the
// parameter's last dimension or lie within one row. Null: the part must not be applied, and no
// further one be requested. `soon` is the memory that the caller will work
// on next: it may be prefetched while the part is computed.
using GradientSource = absl::FunctionRef<const float*(
    int64_t begin, int64_t length, std::span<const std::span<const float>> soon)>;

}  // namespace flotilla
