// Utilities for tests of skip-gram training to inspect the trained vectors. For test programs only.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace flotilla {

inline constexpr int64_t kVectorDim = 8;

// Of words a and b; values: (words, kVectorDim)
inline double Cosine(const std::vector<float>& values, size_t a, size_t b) {
  double ab = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < kVectorDim; ++i) {
    ab += values[a * kVectorDim + i] * values[b * kVectorDim + i];
    aa += values[a * kVectorDim + i] * values[a * kVectorDim + i];
    bb += values[b * kVectorDim + i] * values[b * kVectorDim + i];
  }
  return ab / std::sqrt(aa * bb);
}

}  // namespace flotilla
