// The gradient of a dense parameter, computed part by part where it is used: an update rule asks
// for a part, works on it while it is in the caches, and asks for the next.
#pragma once

#include <cstdint>
#include <span>

#include "absl/functional/function_ref.h"

namespace flotilla {

// Returns the gradient of the elements [begin, begin + length) of the parameter, valid until the
// next call. Every element may be asked for once, in any order, in parts that are whole rows of
// the parameter's last dimension or lie within one. `soon` is the memory that the caller will work
// on next: while the part is computed, it may be brought into the caches.
using GradientSource = absl::FunctionRef<const float*(
    int64_t begin, int64_t length, std::span<const std::span<const float>> soon)>;

}  // namespace flotilla
