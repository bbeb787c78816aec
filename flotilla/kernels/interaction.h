// Products of pairs of feature vectors, summed over all pairs of a row: the second-order terms of
// factorization machines (FM), of field-weighted (FwFM) and of field-aware ones (FFM). Pointers may
// be misaligned; inputs and outputs do not overlap.
#pragma once

#include <cstdint>

namespace flotilla::kernels {

// FM. x (rows, fields, dim), y (rows): y[r] = sum over i < j of <x[r][i], x[r][j]>, computed as
// half of the square of the sum minus the sum of the squares.
void FmForward(int64_t rows, int64_t fields, int64_t dim, const float* x, float* y);
// dx[r][i] = dy[r] (sum over j != i of x[r][j]); added to dx if `accumulate`.
void FmBackward(int64_t rows, int64_t fields, int64_t dim, const float* x, const float* dy,
                bool accumulate, float* dx);

// FwFM. y[r] = sum over j < i of weights[i (i - 1) / 2 + j] <x[r][i], x[r][j]>.
void FwfmForward(int64_t rows, int64_t fields, int64_t dim, const float* x, const float* weights,
                 float* y);
// dx as in FmBackward; dweights (fields (fields - 1) / 2) is added to. Either may be null: not
// computed.
void FwfmBackward(int64_t rows, int64_t fields, int64_t dim, const float* x, const float* weights,
                  const float* dy, bool accumulate, float* dx, float* dweights);

// A feature of an FFM: for each field, k numbers to multiply with features of that field.
struct FfmFeature {
  const float* row = nullptr;  // (fields, k)
  float* gradient = nullptr;   // (fields, k), added to by FfmBackward
  int64_t offset = 0;          // k times the index of the feature's own field
  float x = 1;                 // its value
};

// FFM, one row of a batch: the sum over pairs a < b of features of
//   x_a x_b <row_a[field of b], row_b[field of a]>
// Features of the same field are a pair as well.
float FfmForward(int64_t count, int64_t k, const FfmFeature* features);
// Adds `scale` times the derivatives of that sum to the features' gradients. Features may share a
// gradient (the same id twice).
void FfmBackward(int64_t count, int64_t k, float scale, const FfmFeature* features);

}  // namespace flotilla::kernels
