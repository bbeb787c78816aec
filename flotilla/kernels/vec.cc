// Elementwise functions and reductions, compiled once per instruction set (foreach_target.h) and
// chosen at run time; the public functions at the end only dispatch.
#include "flotilla/kernels/vec.h"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "flotilla/kernels/vec.cc"
#include "hwy/foreach_target.h"

#include "flotilla/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flotilla::kernels::HWY_NAMESPACE {

template <class F>
HWY_INLINE void Map(int64_t n, const float* x, float* y, F f) {
  ForEachVector(n,
                [=](auto lanes, int64_t i) FL_LANES { lanes.Store(f(lanes.Load(x + i)), y + i); });
}

template <class F>
HWY_INLINE void Map2(int64_t n, const float* a, const float* b, float* y, F f) {
  ForEachVector(n, [=](auto lanes, int64_t i)
                       FL_LANES { lanes.Store(f(lanes.Load(a + i), lanes.Load(b + i)), y + i); });
}

void Fill(int64_t n, float value, float* y) {
  ForEachVector(n, [=](auto lanes, int64_t i) FL_LANES { lanes.Store(SetAll(value), y + i); });
}
void Add(int64_t n, const float* a, const float* b, float* y) {
  Map2(n, a, b, y, [](FloatVec u, FloatVec v) FL_LANES { return hn::Add(u, v); });
}
void Sub(int64_t n, const float* a, const float* b, float* y) {
  Map2(n, a, b, y, [](FloatVec u, FloatVec v) FL_LANES { return hn::Sub(u, v); });
}
void Mul(int64_t n, const float* a, const float* b, float* y) {
  Map2(n, a, b, y, [](FloatVec u, FloatVec v) FL_LANES { return hn::Mul(u, v); });
}
void Div(int64_t n, const float* a, const float* b, float* y) {
  Map2(n, a, b, y, [](FloatVec u, FloatVec v) FL_LANES { return hn::Div(u, v); });
}
void Max(int64_t n, const float* a, const float* b, float* y) {
  Map2(n, a, b, y, [](FloatVec u, FloatVec v) FL_LANES { return hn::Max(u, v); });
}
void Scale(int64_t n, float alpha, const float* x, float* y) {
  Map(n, x, y, [=](FloatVec v) FL_LANES { return hn::Mul(SetAll(alpha), v); });
}
void Axpy(int64_t n, float alpha, const float* x, float* y) {
  Map2(n, x, y, y,
       [=](FloatVec u, FloatVec v) FL_LANES { return hn::MulAdd(SetAll(alpha), u, v); });
}
void MulAdd(int64_t n, const float* a, const float* b, float* y) {
  ForEachVector(n, [=](auto lanes, int64_t i) FL_LANES {
    lanes.Store(hn::MulAdd(lanes.Load(a + i), lanes.Load(b + i), lanes.Load(y + i)), y + i);
  });
}
// Uses comparisons instead of Min and Max, so that a NaN stays a NaN.
void Clip(int64_t n, float low, float high, const float* x, float* y) {
  Map(n, x, y, [=](FloatVec v) FL_LANES {
    const FloatVec lo = SetAll(low), hi = SetAll(high);
    return hn::IfThenElse(hn::Lt(v, lo), lo, hn::IfThenElse(hn::Gt(v, hi), hi, v));
  });
}

void Exp(int64_t n, const float* x, float* y) {
  Map(n, x, y, [](FloatVec v) FL_LANES { return ExpOf(v); });
}
void Log(int64_t n, const float* x, float* y) {
  Map(n, x, y, [](FloatVec v) FL_LANES { return LogOf(v); });
}
void Sqrt(int64_t n, const float* x, float* y) {
  Map(n, x, y, [](FloatVec v) FL_LANES { return hn::Sqrt(v); });
}
void Sigmoid(int64_t n, const float* x, float* y) {
  Map(n, x, y, [](FloatVec v) FL_LANES { return SigmoidOf(v); });
}
void Tanh(int64_t n, const float* x, float* y) {
  Map(n, x, y, [](FloatVec v) FL_LANES { return TanhOf(v); });
}

// Sums body(lanes, i) over n elements in four vectors, enough to hide the latency of an addition.
// body(lanes, i, sum) returns the new sum.
template <class Body>
HWY_INLINE FloatVec Accumulate(int64_t n, Body body) {
  const int64_t step = LaneCount();
  FloatVec s0 = hn::Zero(FloatTag()), s1 = s0, s2 = s0, s3 = s0;
  int64_t i = 0;
  for (; i + 4 * step <= n; i += 4 * step) {
    s0 = body(FullLanes(), i, s0);
    s1 = body(FullLanes(), i + step, s1);
    s2 = body(FullLanes(), i + 2 * step, s2);
    s3 = body(FullLanes(), i + 3 * step, s3);
  }
  for (; i + step <= n; i += step) s0 = body(FullLanes(), i, s0);
  if (i < n) s1 = body(FirstLanes{n - i}, i, s1);
  return hn::Add(hn::Add(s0, s1), hn::Add(s2, s3));
}

float Dot(int64_t n, const float* a, const float* b) {
  return SumLanes(Accumulate(n, [=](auto lanes, int64_t i, FloatVec sum) FL_LANES {
    return hn::MulAdd(lanes.Load(a + i), lanes.Load(b + i), sum);
  }));
}

float Sum(int64_t n, const float* x) {
  return SumLanes(Accumulate(n, [=](auto lanes, int64_t i, FloatVec sum)
                                    FL_LANES { return hn::Add(sum, lanes.Load(x + i)); }));
}

double SumSquares(int64_t n, const float* x) {
  const hn::ScalableTag<double> dd;
  const hn::Rebind<float, decltype(dd)> df;
  const auto step = static_cast<int64_t>(hn::Lanes(dd));
  auto s0 = hn::Zero(dd), s1 = s0, s2 = s0, s3 = s0;
  int64_t i = 0;
  const auto add = [=](int64_t at, auto sum) FL_LANES {
    const auto v = hn::PromoteTo(dd, hn::LoadU(df, x + at));
    return hn::MulAdd(v, v, sum);
  };
  for (; i + 4 * step <= n; i += 4 * step) {
    s0 = add(i, s0);
    s1 = add(i + step, s1);
    s2 = add(i + 2 * step, s2);
    s3 = add(i + 3 * step, s3);
  }
  const auto lanes = hn::SumOfLanes(dd, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)));
  double sum = hn::GetLane(lanes);
  for (; i < n; ++i) sum += static_cast<double>(x[i]) * x[i];
  return sum;
}

float MaxElement(int64_t n, const float* x) {
  const FloatVec lowest = SetAll(-std::numeric_limits<float>::infinity());
  FloatVec top = lowest;
  ForEachVector(n, [&](auto lanes, int64_t i)
                       FL_LANES { top = hn::Max(top, lanes.Keep(lanes.Load(x + i), lowest)); });
  return hn::GetLane(hn::MaxOfLanes(FloatTag(), top));
}

// Zero times an infinity or a NaN is a NaN, and a NaN stays in the sum.
bool AllFinite(int64_t n, const float* x) {
  const FloatVec sum = Accumulate(n, [=](auto lanes, int64_t i, FloatVec s) FL_LANES {
    return hn::MulAdd(lanes.Load(x + i), hn::Zero(FloatTag()), s);
  });
  return SumLanes(sum) == 0.0f;
}

// Counts the elements that are not within the limit. A lane may stop counting at 2^24, not at 0.
bool AllWithin(int64_t n, float limit, const float* x) {
  const FloatVec one = SetAll(1);
  const FloatVec count = Accumulate(n, [=](auto lanes, int64_t i, FloatVec s) FL_LANES {
    const auto within = hn::Le(hn::Abs(lanes.Load(x + i)), SetAll(limit));
    return hn::Add(s, hn::IfThenZeroElse(within, one));
  });
  return SumLanes(count) == 0.0f;
}

}  // namespace flotilla::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flotilla::kernels {

HWY_EXPORT(Fill);
HWY_EXPORT(Add);
HWY_EXPORT(Sub);
HWY_EXPORT(Mul);
HWY_EXPORT(Div);
HWY_EXPORT(Max);
HWY_EXPORT(Scale);
HWY_EXPORT(Axpy);
HWY_EXPORT(MulAdd);
HWY_EXPORT(Clip);
HWY_EXPORT(Exp);
HWY_EXPORT(Log);
HWY_EXPORT(Sqrt);
HWY_EXPORT(Sigmoid);
HWY_EXPORT(Tanh);
HWY_EXPORT(Dot);
HWY_EXPORT(Sum);
HWY_EXPORT(SumSquares);
HWY_EXPORT(MaxElement);
HWY_EXPORT(AllFinite);
HWY_EXPORT(AllWithin);

void Fill(int64_t n, float value, float* y) { HWY_DYNAMIC_DISPATCH(Fill)(n, value, y); }
void Add(int64_t n, const float* a, const float* b, float* y) {
  HWY_DYNAMIC_DISPATCH(Add)(n, a, b, y);
}
void Sub(int64_t n, const float* a, const float* b, float* y) {
  HWY_DYNAMIC_DISPATCH(Sub)(n, a, b, y);
}
void Mul(int64_t n, const float* a, const float* b, float* y) {
  HWY_DYNAMIC_DISPATCH(Mul)(n, a, b, y);
}
void Div(int64_t n, const float* a, const float* b, float* y) {
  HWY_DYNAMIC_DISPATCH(Div)(n, a, b, y);
}
void Max(int64_t n, const float* a, const float* b, float* y) {
  HWY_DYNAMIC_DISPATCH(Max)(n, a, b, y);
}
void Scale(int64_t n, float alpha, const float* x, float* y) {
  HWY_DYNAMIC_DISPATCH(Scale)(n, alpha, x, y);
}
void Axpy(int64_t n, float alpha, const float* x, float* y) {
  HWY_DYNAMIC_DISPATCH(Axpy)(n, alpha, x, y);
}
void MulAdd(int64_t n, const float* a, const float* b, float* y) {
  HWY_DYNAMIC_DISPATCH(MulAdd)(n, a, b, y);
}
void Clip(int64_t n, float low, float high, const float* x, float* y) {
  HWY_DYNAMIC_DISPATCH(Clip)(n, low, high, x, y);
}
void Exp(int64_t n, const float* x, float* y) { HWY_DYNAMIC_DISPATCH(Exp)(n, x, y); }
void Log(int64_t n, const float* x, float* y) { HWY_DYNAMIC_DISPATCH(Log)(n, x, y); }
void Sqrt(int64_t n, const float* x, float* y) { HWY_DYNAMIC_DISPATCH(Sqrt)(n, x, y); }
void Sigmoid(int64_t n, const float* x, float* y) { HWY_DYNAMIC_DISPATCH(Sigmoid)(n, x, y); }
void Tanh(int64_t n, const float* x, float* y) { HWY_DYNAMIC_DISPATCH(Tanh)(n, x, y); }
float Dot(int64_t n, const float* a, const float* b) { return HWY_DYNAMIC_DISPATCH(Dot)(n, a, b); }
float Sum(int64_t n, const float* x) { return HWY_DYNAMIC_DISPATCH(Sum)(n, x); }
double SumSquares(int64_t n, const float* x) { return HWY_DYNAMIC_DISPATCH(SumSquares)(n, x); }
float MaxElement(int64_t n, const float* x) { return HWY_DYNAMIC_DISPATCH(MaxElement)(n, x); }
bool AllFinite(int64_t n, const float* x) { return HWY_DYNAMIC_DISPATCH(AllFinite)(n, x); }
bool AllWithin(int64_t n, float limit, const float* x) {
  return HWY_DYNAMIC_DISPATCH(AllWithin)(n, limit, x);
}

}  // namespace flotilla::kernels
#endif  // HWY_ONCE
