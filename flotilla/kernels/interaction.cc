// Compiled once per instruction set and chosen at run time. Vectors run along the dim (or k)
// numbers of a feature; sums over pairs stay in registers, so that each row needs one horizontal
// sum.
#include "flotilla/kernels/interaction.h"

#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "flotilla/kernels/interaction.cc"
#include "hwy/foreach_target.h"

#include "flotilla/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flotilla::kernels::HWY_NAMESPACE {

template <class Tag, class V>
HWY_INLINE float SumOf(Tag tag, V v) {
  return hn::GetLane(hn::SumOfLanes(tag, v));
}

// to = v, or to += v.
template <class Tag, class V>
HWY_INLINE void Put(Tag tag, V v, bool accumulate, float* to) {
  hn::StoreU(accumulate ? hn::Add(hn::LoadU(tag, to), v) : v, tag, to);
}

// ---- FM ----

void FmForward(int64_t rows, int64_t fields, int64_t dim, const float* x, float* y) {
  WithDim(dim, [=](auto d) FL_LANES {
    for (int64_t r = 0; r < rows; ++r) {
      const float* row = x + r * fields * d;
      float result = 0;
      ForEachPiece(d, [=, &result](auto tag, int64_t c) FL_LANES {
        auto sum = hn::Zero(tag), squares = hn::Zero(tag);
        for (int64_t i = 0; i < fields; ++i) {
          const auto v = hn::LoadU(tag, row + i * d + c);
          sum = hn::Add(sum, v);
          squares = hn::MulAdd(v, v, squares);
        }
        result += SumOf(tag, hn::MulSub(sum, sum, squares));
      });
      y[r] = 0.5f * result;
    }
  });
}

void FmBackward(int64_t rows, int64_t fields, int64_t dim, const float* x, const float* dy,
                bool accumulate, float* dx) {
  WithDim(dim, [=](auto d) FL_LANES {
    for (int64_t r = 0; r < rows; ++r) {
      const float* row = x + r * fields * d;
      float* to = dx + r * fields * d;
      ForEachPiece(d, [=](auto tag, int64_t c) FL_LANES {
        const auto slope = hn::Set(tag, dy[r]);
        auto sum = hn::Zero(tag);
        for (int64_t i = 0; i < fields; ++i) sum = hn::Add(sum, hn::LoadU(tag, row + i * d + c));
        for (int64_t i = 0; i < fields; ++i) {
          const auto others = hn::Sub(sum, hn::LoadU(tag, row + i * d + c));
          Put(tag, hn::Mul(slope, others), accumulate, to + i * d + c);
        }
      });
    }
  });
}

// ---- FwFM ----

// The weighted sum of features [first, last) at one piece; weight_of(j) is the weight of feature j.
template <class Tag, class WeightOf>
HWY_INLINE auto WeightedSum(Tag tag, int64_t first, int64_t last, int64_t dim, const float* row,
                            WeightOf weight_of) {
  auto even = hn::Zero(tag), odd = hn::Zero(tag);
  int64_t j = first;
  for (; j + 2 <= last; j += 2) {
    even = hn::MulAdd(hn::Set(tag, weight_of(j)), hn::LoadU(tag, row + j * dim), even);
    odd = hn::MulAdd(hn::Set(tag, weight_of(j + 1)), hn::LoadU(tag, row + (j + 1) * dim), odd);
  }
  if (j < last) even = hn::MulAdd(hn::Set(tag, weight_of(j)), hn::LoadU(tag, row + j * dim), even);
  return hn::Add(even, odd);
}

// The weights of feature i with the features before it.
HWY_INLINE const float* WeightsBefore(const float* weights, int64_t i) {
  return weights + i * (i - 1) / 2;
}

void FwfmForward(int64_t rows, int64_t fields, int64_t dim, const float* x, const float* weights,
                 float* y) {
  WithDim(dim, [=](auto d) FL_LANES {
    for (int64_t r = 0; r < rows; ++r) {
      const float* row = x + r * fields * d;
      float result = 0;
      ForEachPiece(d, [=, &result](auto tag, int64_t c) FL_LANES {
        auto total = hn::Zero(tag);
        for (int64_t i = 1; i < fields; ++i) {
          const float* before = WeightsBefore(weights, i);
          const auto sum =
              WeightedSum(tag, 0, i, d, row + c, [=](int64_t j) FL_LANES { return before[j]; });
          total = hn::MulAdd(hn::LoadU(tag, row + i * d + c), sum, total);
        }
        result += SumOf(tag, total);
      });
      y[r] = result;
    }
  });
}

template <class Dim>
HWY_INLINE void FwfmInputGradient(Dim d, int64_t fields, const float* row, const float* weights,
                                  float dy, bool accumulate, float* dx) {
  ForEachPiece(d, [=](auto tag, int64_t c) FL_LANES {
    for (int64_t i = 0; i < fields; ++i) {
      const float* before = WeightsBefore(weights, i);
      const auto sum =
          hn::Add(WeightedSum(tag, 0, i, d, row + c, [=](int64_t j) FL_LANES { return before[j]; }),
                  WeightedSum(tag, i + 1, fields, d, row + c,
                              [=](int64_t j) FL_LANES { return WeightsBefore(weights, j)[i]; }));
      Put(tag, hn::Mul(hn::Set(tag, dy), sum), accumulate, dx + i * d + c);
    }
  });
}

// A few rows at a time, which stay in the L1 cache: one horizontal sum per pair for all of them.
constexpr int64_t kFwfmRows = 8;

template <class Dim>
HWY_INLINE void FwfmWeightGradient(Dim d, int64_t rows, int64_t fields, const float* x,
                                   const float* dy, float* dweights) {
  const int64_t stride = fields * d;
  ForEachPiece(d, [=](auto tag, int64_t c) FL_LANES {
    for (int64_t i = 1; i < fields; ++i) {
      hn::Vec<decltype(tag)> slopes[kFwfmRows];
      for (int64_t r = 0; r < rows; ++r) {
        slopes[r] = hn::Mul(hn::Set(tag, dy[r]), hn::LoadU(tag, x + r * stride + i * d + c));
      }
      float* to = dweights + i * (i - 1) / 2;
      for (int64_t j = 0; j < i; ++j) {
        auto sum = hn::Zero(tag);
        for (int64_t r = 0; r < rows; ++r) {
          sum = hn::MulAdd(slopes[r], hn::LoadU(tag, x + r * stride + j * d + c), sum);
        }
        to[j] += SumOf(tag, sum);
      }
    }
  });
}

void FwfmBackward(int64_t rows, int64_t fields, int64_t dim, const float* x, const float* weights,
                  const float* dy, bool accumulate, float* dx, float* dweights) {
  WithDim(dim, [=](auto d) FL_LANES {
    const int64_t stride = fields * d;
    for (int64_t begin = 0; begin < rows; begin += kFwfmRows) {
      const int64_t end = std::min(begin + kFwfmRows, rows);
      for (int64_t r = begin; r < end && dx != nullptr; ++r) {
        FwfmInputGradient(d, fields, x + r * stride, weights, dy[r], accumulate, dx + r * stride);
      }
      if (dweights != nullptr) {
        FwfmWeightGradient(d, end - begin, fields, x + begin * stride, dy + begin, dweights);
      }
    }
  });
}

// ---- FFM ----

// body(k) with the usual sizes as compile-time constants.
template <class Body>
HWY_INLINE void WithFactors(int64_t k, Body body) {
  switch (k) {
    case 2:
      return body(std::integral_constant<int64_t, 2>());
    case 4:
      return body(std::integral_constant<int64_t, 4>());
    case 8:
      return body(std::integral_constant<int64_t, 8>());
    case 16:
      return body(std::integral_constant<int64_t, 16>());
    default:
      return body(k);
  }
}

// body(k, unit): k as above, and whether all values are 1, the usual case, as a compile-time
// constant.
template <class Body>
HWY_INLINE void WithFeatures(int64_t count, int64_t k, const FfmFeature* features, Body body) {
  const bool unit =
      std::all_of(features, features + count, [](const FfmFeature& f) { return f.x == 1; });
  WithFactors(k, [=](auto factors) FL_LANES {
    if (unit) {
      body(factors, std::true_type());
    } else {
      body(factors, std::false_type());
    }
  });
}

// sum + the product of features a and b at piece c, times the value of b.
template <class Unit, class Tag, class V>
HWY_INLINE V AddPair(Unit unit, Tag tag, int64_t c, const FfmFeature& a, const FfmFeature& b,
                     V sum) {
  const V of_a = hn::LoadU(tag, a.row + b.offset + c), of_b = hn::LoadU(tag, b.row + a.offset + c);
  return hn::MulAdd(of_a, unit ? of_b : hn::Mul(hn::Set(tag, b.x), of_b), sum);
}

float FfmForward(int64_t count, int64_t k, const FfmFeature* features) {
  float result = 0;
  WithFeatures(count, k, features, [=, &result](auto factors, auto unit) FL_LANES {
    ForEachPiece(factors, [=, &result](auto tag, int64_t c) FL_LANES {
      auto total = hn::Zero(tag);
      for (int64_t a = 0; a < count; ++a) {
        const FfmFeature first = features[a];
        // Independent sums: one would wait for the previous addition at each pair.
        auto s0 = hn::Zero(tag), s1 = hn::Zero(tag), s2 = hn::Zero(tag), s3 = hn::Zero(tag);
        int64_t b = a + 1;
        for (; b + 4 <= count; b += 4) {
          s0 = AddPair(unit, tag, c, first, features[b], s0);
          s1 = AddPair(unit, tag, c, first, features[b + 1], s1);
          s2 = AddPair(unit, tag, c, first, features[b + 2], s2);
          s3 = AddPair(unit, tag, c, first, features[b + 3], s3);
        }
        for (; b < count; ++b) s0 = AddPair(unit, tag, c, first, features[b], s0);
        const auto sum = hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
        total = unit ? hn::Add(total, sum) : hn::MulAdd(hn::Set(tag, first.x), sum, total);
      }
      result += SumOf(tag, total);
    });
  });
  return result;
}

void FfmBackward(int64_t count, int64_t k, float scale, const FfmFeature* features) {
  WithFeatures(count, k, features, [=](auto factors, auto unit) FL_LANES {
    ForEachPiece(factors, [=](auto tag, int64_t c) FL_LANES {
      for (int64_t a = 0; a < count; ++a) {
        const FfmFeature first = features[a];
        for (int64_t b = a + 1; b < count; ++b) {
          const FfmFeature& second = features[b];
          const auto slope = hn::Set(tag, unit ? scale : scale * first.x * second.x);
          const int64_t at_first = second.offset + c, at_second = first.offset + c;
          const auto of_first = hn::LoadU(tag, first.row + at_first);
          const auto of_second = hn::LoadU(tag, second.row + at_second);
          float* to_first = first.gradient + at_first;
          float* to_second = second.gradient + at_second;
          hn::StoreU(hn::MulAdd(slope, of_second, hn::LoadU(tag, to_first)), tag, to_first);
          // Read after that store: both may be the same numbers.
          hn::StoreU(hn::MulAdd(slope, of_first, hn::LoadU(tag, to_second)), tag, to_second);
        }
      }
    });
  });
}

}  // namespace flotilla::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flotilla::kernels {

HWY_EXPORT(FmForward);
HWY_EXPORT(FmBackward);
HWY_EXPORT(FwfmForward);
HWY_EXPORT(FwfmBackward);
HWY_EXPORT(FfmForward);
HWY_EXPORT(FfmBackward);

void FmForward(int64_t rows, int64_t fields, int64_t dim, const float* x, float* y) {
  HWY_DYNAMIC_DISPATCH(FmForward)(rows, fields, dim, x, y);
}
void FmBackward(int64_t rows, int64_t fields, int64_t dim, const float* x, const float* dy,
                bool accumulate, float* dx) {
  HWY_DYNAMIC_DISPATCH(FmBackward)(rows, fields, dim, x, dy, accumulate, dx);
}
void FwfmForward(int64_t rows, int64_t fields, int64_t dim, const float* x, const float* weights,
                 float* y) {
  HWY_DYNAMIC_DISPATCH(FwfmForward)(rows, fields, dim, x, weights, y);
}
void FwfmBackward(int64_t rows, int64_t fields, int64_t dim, const float* x, const float* weights,
                  const float* dy, bool accumulate, float* dx, float* dweights) {
  HWY_DYNAMIC_DISPATCH(FwfmBackward)
  (rows, fields, dim, x, weights, dy, accumulate, dx, dweights);
}
float FfmForward(int64_t count, int64_t k, const FfmFeature* features) {
  return HWY_DYNAMIC_DISPATCH(FfmForward)(count, k, features);
}
void FfmBackward(int64_t count, int64_t k, float scale, const FfmFeature* features) {
  HWY_DYNAMIC_DISPATCH(FfmBackward)(count, k, scale, features);
}

}  // namespace flotilla::kernels
#endif  // HWY_ONCE
