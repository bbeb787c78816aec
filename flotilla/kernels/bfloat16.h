// Conversion from float32 to bfloat16 (its upper 16 bits) and back: half the bytes, the same range,
// 8 bits of precision. Used for values on the wire, never for arithmetic.
#pragma once

#include <cstdint>

namespace flotilla::kernels {

// Rounds to nearest, ties to even; infinities and NaN are preserved. Pointers may be misaligned.
void ToBfloat16(int64_t n, const float* x, uint16_t* y);
// Exact: every bfloat16 is representable in float32.
void FromBfloat16(int64_t n, const uint16_t* x, float* y);

}  // namespace flotilla::kernels
