// Moves rows of embedding tables into and out of a batch: gather with pooling, scatter-add of
// gradients. `values` is (distinct, dim) dense, as pulled; positions[i] is the row of `values` that
// occurrence i refers to. Output rows are `stride` floats apart, so that a slot is written directly
// into the columns of the matrix that the first layer multiplies.
#pragma once

#include <cstdint>

namespace flotilla::kernels {

// How the rows of a bag are combined. kSumSquares gives two rows: the sum and the sum of squares.
enum class Pooling { kSum, kMean, kSqrtN, kSumSquares };

// The occurrences of one slot: row r of the batch has occurrences offsets[r] .. offsets[r + 1].
struct Bags {
  const uint32_t* positions = nullptr;
  const uint32_t* offsets = nullptr;  // null: occurrence r, and no other, belongs to row r
  const float* weights = nullptr;     // by occurrence; null: all 1
};

// One occurrence per row: out[r * stride .. + dim] = values[positions[r]].
void GatherRows(int64_t rows, int64_t dim, const float* values, const uint32_t* positions,
                float* out, int64_t stride);

// A bag per row: occurrences offsets[r] .. offsets[r + 1] of positions, pooled; kMean divides by
// the count, kSqrtN by its square root. An empty bag gives zeros. REQUIRES: not kSumSquares.
void GatherBags(Pooling pooling, int64_t rows, int64_t dim, const float* values,
                const uint32_t* positions, const uint32_t* offsets, float* out, int64_t stride);

// The transposes: grads (distinct, dim) += the contribution of each occurrence. Sums in row order,
// so the result is reproducible.
void ScatterAddRows(int64_t rows, int64_t dim, const float* dout, int64_t stride,
                    const uint32_t* positions, float* grads);
void ScatterAddBags(Pooling pooling, int64_t rows, int64_t dim, const float* dout, int64_t stride,
                    const uint32_t* positions, const uint32_t* offsets, float* grads);

// The same with a weight w per occurrence, which multiplies its row: kMean divides the weighted sum
// by sum(w), kSqrtN by sqrt(sum(w^2)); a divisor of 0 gives zeros. REQUIRES: not kSumSquares.
void GatherWeightedBags(Pooling pooling, int64_t rows, int64_t dim, const float* values,
                        const Bags& bags, float* out, int64_t stride);
void ScatterAddWeightedBags(Pooling pooling, int64_t rows, int64_t dim, const float* dout,
                            int64_t stride, const Bags& bags, float* grads);

// Sums and sums of squares in one pass: with v the weighted rows of a bag,
//   out[r * stride .. + dim] = sum(v), out[r * stride + dim .. + dim] = sum(v^2)
void GatherSumSquares(int64_t rows, int64_t dim, const float* values, const Bags& bags, float* out,
                      int64_t stride);
// Its transpose at the given values: grads += w dsum + 2 w^2 value dsquares.
void ScatterAddSumSquares(int64_t rows, int64_t dim, const float* values, const float* dout,
                          int64_t stride, const Bags& bags, float* grads);

// Sequences: out[r * stride + p * dim .. + dim] is the weighted row of occurrence p of row r, for p
// < width; zeros where the row has fewer occurrences. Occurrences from `width` on are not read.
void GatherSequences(int64_t rows, int64_t width, int64_t dim, const float* values,
                     const Bags& bags, float* out, int64_t stride);
void ScatterAddSequences(int64_t rows, int64_t width, int64_t dim, const float* dout,
                         int64_t stride, const Bags& bags, float* grads);

// Many slots of one table at once, each with one occurrence per row, side by side in the output:
//   out[r * stride + s * dim .. + dim] = values[positions[s][r]]
// positions are `slots` arrays of `rows` entries. Writes the first slots * dim columns of every row
// and nothing else.
void GatherSlots(int64_t rows, int64_t slots, int64_t dim, const float* values,
                 const uint32_t* const* positions, float* out, int64_t stride);
// Its transpose: grads[positions[s][r]] += dout[r * stride + s * dim .. + dim], in row order.
void ScatterAddSlots(int64_t rows, int64_t slots, int64_t dim, const float* dout, int64_t stride,
                     const uint32_t* const* positions, float* grads);

// Copies (rows, columns) between matrices with different strides.
void CopyRows(int64_t rows, int64_t columns, const float* in, int64_t in_stride, float* out,
              int64_t out_stride);
// out += in, for matrices with different strides.
void AddRows(int64_t rows, int64_t columns, const float* in, int64_t in_stride, float* out,
             int64_t out_stride);

}  // namespace flotilla::kernels
