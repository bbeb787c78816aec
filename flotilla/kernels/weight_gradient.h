// The gradient of a weight matrix in strips of a few rows, for updates that follow each strip at
// once. For whole matrices and long sums there is gemm.h.
#pragma once

#include <cstdint>
#include <span>

namespace flotilla::kernels {

// C = X^T Y + beta C: X is (k, m) ldx apart, Y (k, n) ldy apart, C (m, n) dense; all row-major.
// beta is 0 (C is not read) or 1. While it computes, it asks for the cache lines of `soon`, to be
// written: what the caller works on next then comes from the caches, at no cost. Fast where k is a
// few hundred at most, and C fits the caches. Deterministic for equal arguments on equal hardware;
// an element does not depend on which strip it is part of.
void WeightGradient(int64_t m, int64_t n, int64_t k, const float* x, int64_t ldx, const float* y,
                    int64_t ldy, float beta, float* c,
                    std::span<const std::span<const float>> soon = {});

}  // namespace flotilla::kernels
