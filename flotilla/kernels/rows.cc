// Gather and scatter-add of embedding rows, compiled once per instruction set and chosen at run
// time, once per call rather than per row; the public functions at the end only dispatch.
#include "flotilla/kernels/rows.h"

#include <algorithm>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "flotilla/kernels/rows.cc"
#include "hwy/foreach_target.h"

#include "flotilla/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flotilla::kernels::HWY_NAMESPACE {

template <class Dim>
HWY_INLINE void CopyRow(Dim dim, const float* in, float* out) {
  ForEachPiece(dim,
               [=](auto d, int64_t i) FL_LANES { hn::StoreU(hn::LoadU(d, in + i), d, out + i); });
}

template <class Dim>
HWY_INLINE void AddRow(Dim dim, const float* in, float* out) {
  ForEachPiece(dim, [=](auto d, int64_t i) FL_LANES {
    hn::StoreU(hn::Add(hn::LoadU(d, out + i), hn::LoadU(d, in + i)), d, out + i);
  });
}

void GatherRows(int64_t rows, int64_t dim, const float* values, const uint32_t* positions,
                float* out, int64_t stride) {
  WithDim(dim, [=](auto d) FL_LANES {
    for (int64_t r = 0; r < rows; ++r) CopyRow(d, values + positions[r] * d, out + r * stride);
  });
}

void ScatterAddRows(int64_t rows, int64_t dim, const float* dout, int64_t stride,
                    const uint32_t* positions, float* grads) {
  WithDim(dim, [=](auto d) FL_LANES {
    for (int64_t r = 0; r < rows; ++r) AddRow(d, dout + r * stride, grads + positions[r] * d);
  });
}

void GatherSlots(int64_t rows, int64_t slots, int64_t dim, const float* values,
                 const uint32_t* const* positions, float* out, int64_t stride) {
  WithDim(dim, [=](auto d) FL_LANES {
    for (int64_t r = 0; r < rows; ++r) {
      float* to = out + r * stride;
      for (int64_t s = 0; s < slots; ++s, to += d) CopyRow(d, values + positions[s][r] * d, to);
    }
  });
}

void ScatterAddSlots(int64_t rows, int64_t slots, int64_t dim, const float* dout, int64_t stride,
                     const uint32_t* const* positions, float* grads) {
  WithDim(dim, [=](auto d) FL_LANES {
    for (int64_t r = 0; r < rows; ++r) {
      const float* from = dout + r * stride;
      for (int64_t s = 0; s < slots; ++s, from += d) AddRow(d, from, grads + positions[s][r] * d);
    }
  });
}

HWY_INLINE float BagScale(Pooling pooling, uint32_t count) {
  if (pooling == Pooling::kSum || count == 0) return 1.0f;
  const auto n = static_cast<float>(count);
  return 1.0f / (pooling == Pooling::kMean ? n : std::sqrt(n));
}

// Processes one vector of columns at a time over the whole bag: the sum stays in a register.
void GatherBags(Pooling pooling, int64_t rows, int64_t dim, const float* values,
                const uint32_t* positions, const uint32_t* offsets, float* out, int64_t stride) {
  WithDim(dim, [=](auto d) FL_LANES {
    for (int64_t r = 0; r < rows; ++r) {
      const uint32_t begin = offsets[r], end = offsets[r + 1];
      const float scale = BagScale(pooling, end - begin);
      float* to = out + r * stride;
      ForEachPiece(d, [=](auto tag, int64_t i) FL_LANES {
        auto sum = hn::Zero(tag);
        for (uint32_t k = begin; k < end; ++k) {
          sum = hn::Add(sum, hn::LoadU(tag, values + positions[k] * d + i));
        }
        hn::StoreU(hn::Mul(sum, hn::Set(tag, scale)), tag, to + i);
      });
    }
  });
}

void ScatterAddBags(Pooling pooling, int64_t rows, int64_t dim, const float* dout, int64_t stride,
                    const uint32_t* positions, const uint32_t* offsets, float* grads) {
  WithDim(dim, [=](auto d) FL_LANES {
    for (int64_t r = 0; r < rows; ++r) {
      const uint32_t begin = offsets[r], end = offsets[r + 1];
      const float scale = BagScale(pooling, end - begin);
      const float* from = dout + r * stride;
      for (uint32_t k = begin; k < end; ++k) {
        float* to = grads + positions[k] * d;
        ForEachPiece(d, [=](auto tag, int64_t i) FL_LANES {
          const auto old = hn::LoadU(tag, to + i);
          const auto factor = hn::Set(tag, scale);
          hn::StoreU(hn::MulAdd(factor, hn::LoadU(tag, from + i), old), tag, to + i);
        });
      }
    }
  });
}

HWY_INLINE uint32_t BeginOf(const Bags& bags, int64_t row) {
  return bags.offsets == nullptr ? static_cast<uint32_t>(row) : bags.offsets[row];
}

HWY_INLINE float WeightOf(const Bags& bags, uint32_t occurrence) {
  return bags.weights == nullptr ? 1.0f : bags.weights[occurrence];
}

HWY_INLINE float WeightedScale(Pooling pooling, const Bags& bags, uint32_t begin, uint32_t end) {
  if (pooling == Pooling::kSum) return 1.0f;
  float divisor = 0;
  for (uint32_t k = begin; k < end; ++k) {
    const float w = WeightOf(bags, k);
    divisor += pooling == Pooling::kMean ? w : w * w;
  }
  if (pooling == Pooling::kSqrtN) divisor = std::sqrt(divisor);
  return divisor == 0 ? 0.0f : 1.0f / divisor;
}

// out += factor * in.
template <class Dim>
HWY_INLINE void AddScaledRow(Dim dim, float factor, const float* in, float* out) {
  ForEachPiece(dim, [=](auto d, int64_t i) FL_LANES {
    const auto sum = hn::MulAdd(hn::Set(d, factor), hn::LoadU(d, in + i), hn::LoadU(d, out + i));
    hn::StoreU(sum, d, out + i);
  });
}

void GatherWeightedBags(Pooling pooling, int64_t rows, int64_t dim, const float* values,
                        const Bags& bags, float* out, int64_t stride) {
  WithDim(dim, [=](auto d) FL_LANES {
    for (int64_t r = 0; r < rows; ++r) {
      const uint32_t begin = BeginOf(bags, r), end = BeginOf(bags, r + 1);
      const float scale = WeightedScale(pooling, bags, begin, end);
      float* to = out + r * stride;
      ForEachPiece(d, [=](auto tag, int64_t i) FL_LANES {
        auto sum = hn::Zero(tag);
        for (uint32_t k = begin; k < end; ++k) {
          const auto w = hn::Set(tag, WeightOf(bags, k));
          sum = hn::MulAdd(w, hn::LoadU(tag, values + bags.positions[k] * d + i), sum);
        }
        hn::StoreU(hn::Mul(sum, hn::Set(tag, scale)), tag, to + i);
      });
    }
  });
}

void ScatterAddWeightedBags(Pooling pooling, int64_t rows, int64_t dim, const float* dout,
                            int64_t stride, const Bags& bags, float* grads) {
  WithDim(dim, [=](auto d) FL_LANES {
    for (int64_t r = 0; r < rows; ++r) {
      const uint32_t begin = BeginOf(bags, r), end = BeginOf(bags, r + 1);
      const float scale = WeightedScale(pooling, bags, begin, end);
      for (uint32_t k = begin; k < end; ++k) {
        AddScaledRow(d, scale * WeightOf(bags, k), dout + r * stride,
                     grads + bags.positions[k] * d);
      }
    }
  });
}

void GatherSumSquares(int64_t rows, int64_t dim, const float* values, const Bags& bags, float* out,
                      int64_t stride) {
  WithDim(dim, [=](auto d) FL_LANES {
    for (int64_t r = 0; r < rows; ++r) {
      const uint32_t begin = BeginOf(bags, r), end = BeginOf(bags, r + 1);
      float* to = out + r * stride;
      ForEachPiece(d, [=](auto tag, int64_t i) FL_LANES {
        auto sum = hn::Zero(tag), squares = hn::Zero(tag);
        for (uint32_t k = begin; k < end; ++k) {
          const auto v = hn::Mul(hn::Set(tag, WeightOf(bags, k)),
                                 hn::LoadU(tag, values + bags.positions[k] * d + i));
          sum = hn::Add(sum, v);
          squares = hn::MulAdd(v, v, squares);
        }
        hn::StoreU(sum, tag, to + i);
        hn::StoreU(squares, tag, to + d + i);
      });
    }
  });
}

void ScatterAddSumSquares(int64_t rows, int64_t dim, const float* values, const float* dout,
                          int64_t stride, const Bags& bags, float* grads) {
  WithDim(dim, [=](auto d) FL_LANES {
    for (int64_t r = 0; r < rows; ++r) {
      const float* from = dout + r * stride;
      for (uint32_t k = BeginOf(bags, r); k < BeginOf(bags, r + 1); ++k) {
        const float w = WeightOf(bags, k);
        const float* value = values + bags.positions[k] * d;
        float* to = grads + bags.positions[k] * d;
        ForEachPiece(d, [=](auto tag, int64_t i) FL_LANES {
          const auto slope = hn::MulAdd(hn::Mul(hn::Set(tag, 2 * w), hn::LoadU(tag, value + i)),
                                        hn::LoadU(tag, from + d + i), hn::LoadU(tag, from + i));
          hn::StoreU(hn::MulAdd(hn::Set(tag, w), slope, hn::LoadU(tag, to + i)), tag, to + i);
        });
      }
    }
  });
}

// Number of occurrences of a row that a sequence of this width holds.
HWY_INLINE int64_t SequenceLength(const Bags& bags, int64_t row, int64_t width) {
  return std::min<int64_t>(BeginOf(bags, row + 1) - BeginOf(bags, row), width);
}

void GatherSequences(int64_t rows, int64_t width, int64_t dim, const float* values,
                     const Bags& bags, float* out, int64_t stride) {
  WithDim(dim, [=](auto d) FL_LANES {
    for (int64_t r = 0; r < rows; ++r) {
      const uint32_t begin = BeginOf(bags, r);
      const int64_t length = SequenceLength(bags, r, width);
      float* to = out + r * stride;
      for (int64_t p = 0; p < length; ++p, to += d) {
        const float w = WeightOf(bags, begin + static_cast<uint32_t>(p));
        const float* value = values + bags.positions[begin + p] * d;
        ForEachPiece(d, [=](auto tag, int64_t i) FL_LANES {
          hn::StoreU(hn::Mul(hn::Set(tag, w), hn::LoadU(tag, value + i)), tag, to + i);
        });
      }
      std::fill(to, to + (width - length) * d, 0.0f);
    }
  });
}

void ScatterAddSequences(int64_t rows, int64_t width, int64_t dim, const float* dout,
                         int64_t stride, const Bags& bags, float* grads) {
  WithDim(dim, [=](auto d) FL_LANES {
    for (int64_t r = 0; r < rows; ++r) {
      const uint32_t begin = BeginOf(bags, r);
      const int64_t length = SequenceLength(bags, r, width);
      for (int64_t p = 0; p < length; ++p) {
        AddScaledRow(d, WeightOf(bags, begin + static_cast<uint32_t>(p)), dout + r * stride + p * d,
                     grads + bags.positions[begin + p] * d);
      }
    }
  });
}

void CopyRows(int64_t rows, int64_t columns, const float* in, int64_t in_stride, float* out,
              int64_t out_stride) {
  for (int64_t r = 0; r < rows; ++r) CopyRow(columns, in + r * in_stride, out + r * out_stride);
}

void AddRows(int64_t rows, int64_t columns, const float* in, int64_t in_stride, float* out,
             int64_t out_stride) {
  for (int64_t r = 0; r < rows; ++r) AddRow(columns, in + r * in_stride, out + r * out_stride);
}

}  // namespace flotilla::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flotilla::kernels {

HWY_EXPORT(GatherRows);
HWY_EXPORT(ScatterAddRows);
HWY_EXPORT(GatherSlots);
HWY_EXPORT(ScatterAddSlots);
HWY_EXPORT(GatherBags);
HWY_EXPORT(ScatterAddBags);
HWY_EXPORT(GatherWeightedBags);
HWY_EXPORT(ScatterAddWeightedBags);
HWY_EXPORT(GatherSumSquares);
HWY_EXPORT(ScatterAddSumSquares);
HWY_EXPORT(GatherSequences);
HWY_EXPORT(ScatterAddSequences);
HWY_EXPORT(CopyRows);
HWY_EXPORT(AddRows);

void GatherRows(int64_t rows, int64_t dim, const float* values, const uint32_t* positions,
                float* out, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(GatherRows)(rows, dim, values, positions, out, stride);
}
void ScatterAddRows(int64_t rows, int64_t dim, const float* dout, int64_t stride,
                    const uint32_t* positions, float* grads) {
  HWY_DYNAMIC_DISPATCH(ScatterAddRows)(rows, dim, dout, stride, positions, grads);
}
void GatherSlots(int64_t rows, int64_t slots, int64_t dim, const float* values,
                 const uint32_t* const* positions, float* out, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(GatherSlots)(rows, slots, dim, values, positions, out, stride);
}
void ScatterAddSlots(int64_t rows, int64_t slots, int64_t dim, const float* dout, int64_t stride,
                     const uint32_t* const* positions, float* grads) {
  HWY_DYNAMIC_DISPATCH(ScatterAddSlots)(rows, slots, dim, dout, stride, positions, grads);
}
void GatherBags(Pooling pooling, int64_t rows, int64_t dim, const float* values,
                const uint32_t* positions, const uint32_t* offsets, float* out, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(GatherBags)(pooling, rows, dim, values, positions, offsets, out, stride);
}
void ScatterAddBags(Pooling pooling, int64_t rows, int64_t dim, const float* dout, int64_t stride,
                    const uint32_t* positions, const uint32_t* offsets, float* grads) {
  HWY_DYNAMIC_DISPATCH(ScatterAddBags)
  (pooling, rows, dim, dout, stride, positions, offsets, grads);
}
void GatherWeightedBags(Pooling pooling, int64_t rows, int64_t dim, const float* values,
                        const Bags& bags, float* out, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(GatherWeightedBags)(pooling, rows, dim, values, bags, out, stride);
}
void ScatterAddWeightedBags(Pooling pooling, int64_t rows, int64_t dim, const float* dout,
                            int64_t stride, const Bags& bags, float* grads) {
  HWY_DYNAMIC_DISPATCH(ScatterAddWeightedBags)(pooling, rows, dim, dout, stride, bags, grads);
}
void GatherSumSquares(int64_t rows, int64_t dim, const float* values, const Bags& bags, float* out,
                      int64_t stride) {
  HWY_DYNAMIC_DISPATCH(GatherSumSquares)(rows, dim, values, bags, out, stride);
}
void ScatterAddSumSquares(int64_t rows, int64_t dim, const float* values, const float* dout,
                          int64_t stride, const Bags& bags, float* grads) {
  HWY_DYNAMIC_DISPATCH(ScatterAddSumSquares)(rows, dim, values, dout, stride, bags, grads);
}
void GatherSequences(int64_t rows, int64_t width, int64_t dim, const float* values,
                     const Bags& bags, float* out, int64_t stride) {
  HWY_DYNAMIC_DISPATCH(GatherSequences)(rows, width, dim, values, bags, out, stride);
}
void ScatterAddSequences(int64_t rows, int64_t width, int64_t dim, const float* dout,
                         int64_t stride, const Bags& bags, float* grads) {
  HWY_DYNAMIC_DISPATCH(ScatterAddSequences)(rows, width, dim, dout, stride, bags, grads);
}
void CopyRows(int64_t rows, int64_t columns, const float* in, int64_t in_stride, float* out,
              int64_t out_stride) {
  HWY_DYNAMIC_DISPATCH(CopyRows)(rows, columns, in, in_stride, out, out_stride);
}
void AddRows(int64_t rows, int64_t columns, const float* in, int64_t in_stride, float* out,
             int64_t out_stride) {
  HWY_DYNAMIC_DISPATCH(AddRows)(rows, columns, in, in_stride, out, out_stride);
}

}  // namespace flotilla::kernels
#endif  // HWY_ONCE
