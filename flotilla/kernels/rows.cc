// Gather and scatter-add of embedding rows, compiled once per instruction set and chosen at run
// time, once per call rather than per row; the public functions at the end only dispatch.
#include "flotilla/kernels/rows.h"

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
