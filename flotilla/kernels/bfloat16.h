// float32 to bfloat16, its upper half, and back: half the bytes, the same range, 8 bits of
// precision. For values on the wire, never for arithmetic.
#pragma once

#include <cstdint>

namespace flotilla::kernels {

// To the nearest, halfway cases to even; infinities and NaN stay what they are. Pointers may be
// misaligned.
void ToBfloat16(int64_t n, const float* x, uint16_t* y);
// Exact.
void FromBfloat16(int64_t n, const uint16_t* x, float* y);

}  // namespace flotilla::kernels
