// float32 to bfloat16 and back, compiled once per instruction set (foreach_target.h) and chosen at
// run time.
#include "flotilla/kernels/bfloat16.h"

#include <cstring>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "flotilla/kernels/bfloat16.cc"
#include "hwy/foreach_target.h"

#include "flotilla/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flotilla::kernels::HWY_NAMESPACE {

using IntTag = hn::RebindToSigned<FloatTag>;
using ShortTag = hn::Rebind<uint16_t, IntTag>;

// Integer conversions of whole vectors; the tail that does not fill a vector is copied to an array
// of one vector and converted the same way.
HWY_INLINE void ToOneVector(const float* x, uint16_t* y) {
  const IntTag d;
  const auto bits = hn::LoadU(d, reinterpret_cast<const int32_t*>(x));
  const auto last = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
  const auto rounded = hn::Add(bits, hn::Add(last, hn::Set(d, 0x7fff)));
  // Rounding could turn a NaN into infinity or flip its sign: set a mantissa bit that survives
  // truncation.
  const auto quiet = hn::Or(bits, hn::Set(d, 0x400000));
  const auto nan = hn::RebindMask(d, hn::IsNaN(hn::BitCast(FloatTag(), bits)));
  const auto kept = hn::IfThenElse(nan, quiet, rounded);
  const auto upper = hn::And(hn::ShiftRight<16>(kept), hn::Set(d, 0xffff));
  hn::StoreU(hn::DemoteTo(ShortTag(), upper), ShortTag(), y);
}

HWY_INLINE void FromOneVector(const uint16_t* x, float* y) {
  const IntTag d;
  const auto bits = hn::ShiftLeft<16>(hn::PromoteTo(d, hn::LoadU(ShortTag(), x)));
  hn::StoreU(hn::BitCast(FloatTag(), bits), FloatTag(), y);
}

template <typename From, typename To, typename Convert>
HWY_INLINE void ConvertAll(int64_t n, const From* x, To* y, Convert convert) {
  const int64_t lanes = LaneCount();
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) convert(x + i, y + i);
  if (i == n) return;
  From from[HWY_MAX_BYTES / sizeof(float)] = {};
  To to[HWY_MAX_BYTES / sizeof(float)];
  std::memcpy(from, x + i, (n - i) * sizeof(From));
  convert(from, to);
  std::memcpy(y + i, to, (n - i) * sizeof(To));
}

void ToBfloat16(int64_t n, const float* x, uint16_t* y) {
  ConvertAll(n, x, y, [](const float* from, uint16_t* to) FL_LANES { ToOneVector(from, to); });
}
void FromBfloat16(int64_t n, const uint16_t* x, float* y) {
  ConvertAll(n, x, y, [](const uint16_t* from, float* to) FL_LANES { FromOneVector(from, to); });
}

}  // namespace flotilla::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flotilla::kernels {

HWY_EXPORT(ToBfloat16);
HWY_EXPORT(FromBfloat16);

void ToBfloat16(int64_t n, const float* x, uint16_t* y) {
  HWY_DYNAMIC_DISPATCH(ToBfloat16)(n, x, y);
}
void FromBfloat16(int64_t n, const uint16_t* x, float* y) {
  HWY_DYNAMIC_DISPATCH(FromBfloat16)(n, x, y);
}

}  // namespace flotilla::kernels
#endif  // HWY_ONCE
