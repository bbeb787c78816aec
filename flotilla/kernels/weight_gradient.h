// Computes the gradient of a weight matrix in strips of a few rows, for updates that are applied
// right after each strip. For whole matrices and long sums use gemm.h.
#pragma once

#include <cstdint>
#include <span>

namespace flotilla::kernels {

// C = X^T Y + beta C: X is (k, m) with row stride ldx, Y (k, n) with row stride ldy, C (m, n)
// dense; all row-major. beta is 0 (C is not read) or 1. During the computation it prefetches the
// cache lines of `soon` for writing, so that the memory that the caller works on next is in the
// caches at no cost. Fast when k is at most a few hundred and C fits into the caches. Deterministic
// for equal arguments on equal hardware; an element does not depend on which strip it is part of.
void WeightGradient(int64_t m, int64_t n, int64_t k, const float* x, int64_t ldx, const float* y,
                    int64_t ldy, float beta, float* c,
                    std::span<const std::span<const float>> soon = {});

}  // namespace flotilla::kernels
