// Shared by the SIMD sources of this directory: loops over n floats in whole vectors plus a tail,
// and elementary functions with the limits that IEEE arithmetic guarantees. Included once per
// instruction set, after hwy/foreach_target.h; never from a header.
#if defined(FLOTILLA_KERNELS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef FLOTILLA_KERNELS_SIMD_INL_H_
#undef FLOTILLA_KERNELS_SIMD_INL_H_
#else
#define FLOTILLA_KERNELS_SIMD_INL_H_
#endif

#include <cstdint>
#include <limits>
#include <type_traits>

#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

// Placed between the parameters and the body of a lambda: the surrounding loops are fast only when
// the lambda is inlined, and not every compiler lets a lambda inherit the instruction set of its
// function.
#undef FL_LANES
#define FL_LANES HWY_ATTR __attribute__((always_inline))

HWY_BEFORE_NAMESPACE();
namespace flotilla::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using FloatTag = hn::ScalableTag<float>;
using FloatVec = hn::Vec<FloatTag>;

HWY_INLINE int64_t LaneCount() { return static_cast<int64_t>(hn::Lanes(FloatTag())); }

// A whole vector in memory.
struct FullLanes {
  HWY_INLINE FloatVec Load(const float* p) const { return hn::LoadU(FloatTag(), p); }
  HWY_INLINE void Store(FloatVec v, float* p) const { hn::StoreU(v, FloatTag(), p); }
  HWY_INLINE FloatVec Keep(FloatVec v, FloatVec /*otherwise*/) const { return v; }
};

// The first n lanes of a vector, 0 < n < LaneCount(). Touches no memory beyond them; the other
// lanes load as zero.
struct FirstLanes {
  int64_t n;

  HWY_INLINE FloatVec Load(const float* p) const;
  HWY_INLINE void Store(FloatVec v, float* p) const;
  // v in the first n lanes, `otherwise` in the rest: the neutral element of a reduction.
  HWY_INLINE FloatVec Keep(FloatVec v, FloatVec otherwise) const {
    return hn::IfThenElse(hn::FirstN(FloatTag(), static_cast<size_t>(n)), v, otherwise);
  }
};

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL

HWY_INLINE FloatVec FirstLanes::Load(const float* p) const {
  return hn::MaskedLoad(hn::FirstN(FloatTag(), static_cast<size_t>(n)), FloatTag(), p);
}
HWY_INLINE void FirstLanes::Store(FloatVec v, float* p) const {
  hn::BlendedStore(v, hn::FirstN(FloatTag(), static_cast<size_t>(n)), FloatTag(), p);
}

#elif HWY_TARGET == HWY_AVX2

HWY_INLINE FloatVec FirstLanes::Load(const float* p) const {
  return hn::MaskedLoad(hn::FirstN(FloatTag(), static_cast<size_t>(n)), FloatTag(), p);
}
// In pieces of 4, 2 and 1: masked stores of AVX2 are microcoded on AMD.
HWY_INLINE void FirstLanes::Store(FloatVec v, float* p) const {
  const hn::Half<FloatTag> d4;
  const hn::Half<decltype(d4)> d2;
  auto rest = hn::LowerHalf(d4, v);
  if (n & 4) {
    hn::StoreU(rest, d4, p);
    rest = hn::UpperHalf(d4, v);
    p += 4;
  }
  auto pair = hn::LowerHalf(d2, rest);
  if (n & 2) {
    hn::StoreU(pair, d2, p);
    pair = hn::UpperHalf(d2, rest);
    p += 2;
  }
  if (n & 1) *p = hn::GetLane(pair);
}

#else

HWY_INLINE FloatVec FirstLanes::Load(const float* p) const {
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)] = {};
  for (int64_t i = 0; i < n; ++i) lanes[i] = p[i];
  return hn::Load(FloatTag(), lanes);
}
HWY_INLINE void FirstLanes::Store(FloatVec v, float* p) const {
  HWY_ALIGN float lanes[HWY_MAX_BYTES / sizeof(float)];
  hn::Store(v, FloatTag(), lanes);
  for (int64_t i = 0; i < n; ++i) p[i] = lanes[i];
}

#endif

// body(lanes, i) for i = 0, N, 2N .. with N = LaneCount(); the last lanes may be FirstLanes.
template <class Body>
HWY_INLINE void ForEachVector(int64_t n, Body body) {
  const int64_t step = LaneCount();
  int64_t i = 0;
  for (; i + step <= n; i += step) body(FullLanes(), i);
  if (i < n) body(FirstLanes{n - i}, i);
}

// Calls body(dim), with the usual dimensions as compile-time constants: a row is then a few
// instructions without a loop. Dim below is such a constant or int64_t.
template <class Body>
HWY_INLINE void WithDim(int64_t dim, Body body) {
  switch (dim) {
    case 1:
      return body(std::integral_constant<int64_t, 1>());
    case 4:
      return body(std::integral_constant<int64_t, 4>());
    case 8:
      return body(std::integral_constant<int64_t, 8>());
    case 10:
      return body(std::integral_constant<int64_t, 10>());
    case 16:
      return body(std::integral_constant<int64_t, 16>());
    case 32:
      return body(std::integral_constant<int64_t, 32>());
    case 64:
      return body(std::integral_constant<int64_t, 64>());
    default:
      return body(dim);
  }
}

// body(tag, i) over short rows: whole vectors, then pieces of 8, 4, 2 and 1 lanes. No masks: a row
// that is read again soon is still in the store buffer, and the processor cannot forward the data
// of a masked store from there, not even to a neighbour within the vector.
template <class Dim, class Body>
HWY_INLINE void ForEachPiece(Dim dim, Body body) {
  const int64_t step = LaneCount();
  int64_t i = 0;
  for (; i + step <= dim; i += step) body(FloatTag(), i);
  if (step > 8 && (dim & 8)) {
    body(hn::CappedTag<float, 8>(), i);
    i += 8;
  }
  if (step > 4 && (dim & 4)) {
    body(hn::CappedTag<float, 4>(), i);
    i += 4;
  }
  if (step > 2 && (dim & 2)) {
    body(hn::CappedTag<float, 2>(), i);
    i += 2;
  }
  if (step > 1 && (dim & 1)) body(hn::CappedTag<float, 1>(), i);
}

HWY_INLINE FloatVec SetAll(float value) { return hn::Set(FloatTag(), value); }
HWY_INLINE float SumLanes(FloatVec v) { return hn::GetLane(hn::SumOfLanes(FloatTag(), v)); }

// Highway's functions, with the results of std:: for infinities and NaN.
HWY_INLINE FloatVec ExpOf(FloatVec x) {
  // exp(89) is already infinite; beyond 128 powers of two the approximation would wrap around.
  const FloatVec y = hn::Exp(FloatTag(), hn::Min(x, SetAll(89.0f)));
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

HWY_INLINE FloatVec LogOf(FloatVec x) {
  const FloatVec zero = hn::Zero(FloatTag());
  const FloatVec infinity = SetAll(std::numeric_limits<float>::infinity());
  const FloatVec nan = SetAll(std::numeric_limits<float>::quiet_NaN());
  const FloatVec outside = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), nan);
  const FloatVec y = hn::IfThenElse(hn::Eq(x, infinity), infinity, hn::Log(FloatTag(), x));
  return hn::IfThenElse(hn::Gt(x, zero), y, outside);
}

HWY_INLINE FloatVec TanhOf(FloatVec x) { return hn::Tanh(FloatTag(), x); }

// From exp(-|x|), which cannot overflow: 1 / (1 + e) or e / (1 + e).
HWY_INLINE FloatVec SigmoidOf(FloatVec x) {
  const FloatVec one = SetAll(1.0f);
  const FloatVec e = ExpOf(hn::Neg(hn::Abs(x)));
  const FloatVec top = hn::IfThenElse(hn::Lt(x, hn::Zero(FloatTag())), e, one);
  return hn::Div(top, hn::Add(one, e));
}

}  // namespace flotilla::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // include guard, once per instruction set
