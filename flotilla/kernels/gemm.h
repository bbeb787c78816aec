// Matrix product, the only user of oneDNN. Runs on the calling thread alone: every worker computes
// its own batch, which is faster than one product spread over threads for the shapes of CTR models.
#pragma once

#include <cstdint>

namespace flotilla::kernels {

enum class Transpose { kNo, kYes };

// C = op(A) op(B) + beta C, all row-major. op(A) is (m, k), op(B) is (k, n), C is (m, n); lda, ldb,
// ldc are the row strides of the stored matrices, in floats. beta is 0 (C is not read) or 1. Zero
// m, n or k are allowed: with k == 0, C becomes beta C. Deterministic for equal arguments on equal
// hardware.
void Gemm(Transpose ta, Transpose tb, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda,
          const float* b, int64_t ldb, float beta, float* c, int64_t ldc);

// C = A B for narrow results, n <= kSkinnyColumns, where every library is slow. A is (m, k) with
// row stride lda, B is (k, n) dense, C is (m, n) dense. Adds bias to each row when bias is not
// null.
inline constexpr int64_t kSkinnyColumns = 16;
void SkinnyForward(int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
                   const float* bias, float* c);

// Computes the gradients of SkinnyForward in one pass over A. dc is (m, n) dense.
//   db (k, n) += A^T dc;  dbias (n) += column sums of dc;  da (m, k), row stride ldda, = dc B^T,
//   or += when accumulate_da. db, dbias and da may each be null: that gradient is then skipped.
void SkinnyBackward(int64_t m, int64_t n, int64_t k, const float* a, int64_t lda, const float* b,
                    const float* dc, float* db, float* dbias, float* da, int64_t ldda,
                    bool accumulate_da);

}  // namespace flotilla::kernels
