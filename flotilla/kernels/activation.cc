// Bias, activations and softmax with their gradients, compiled once per instruction set and chosen
// at run time; the public functions at the end only dispatch.
#include "flotilla/kernels/activation.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "flotilla/kernels/activation.cc"
#include "hwy/foreach_target.h"

#include "flotilla/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flotilla::kernels::HWY_NAMESPACE {

template <Activation kAct>
HWY_INLINE FloatVec Activate(FloatVec x) {
  if constexpr (kAct == Activation::kRelu) {
    // A comparison instead of Max: a NaN stays a NaN and is caught by the check of the loss.
    return hn::IfThenZeroElse(hn::Lt(x, hn::Zero(FloatTag())), x);
  } else if constexpr (kAct == Activation::kSigmoid) {
    return SigmoidOf(x);
  } else if constexpr (kAct == Activation::kTanh) {
    return TanhOf(x);
  } else {
    return x;
  }
}

// dy * act'(y), computed from the result y.
template <Activation kAct>
HWY_INLINE FloatVec Gradient(FloatVec y, FloatVec dy) {
  if constexpr (kAct == Activation::kRelu) {
    return hn::IfThenZeroElse(hn::Le(y, hn::Zero(FloatTag())), dy);
  } else if constexpr (kAct == Activation::kSigmoid) {
    return hn::Mul(dy, hn::NegMulAdd(y, y, y));
  } else if constexpr (kAct == Activation::kTanh) {
    return hn::Mul(dy, hn::NegMulAdd(y, y, SetAll(1.0f)));
  } else {
    return dy;
  }
}

template <Activation kAct>
void Forward(int64_t rows, int64_t columns, const float* bias, float* y) {
  if (bias == nullptr) {
    if constexpr (kAct == Activation::kNone) return;
    ForEachVector(rows * columns, [=](auto lanes, int64_t i) FL_LANES {
      lanes.Store(Activate<kAct>(lanes.Load(y + i)), y + i);
    });
    return;
  }
  for (int64_t r = 0; r < rows; ++r, y += columns) {
    ForEachVector(columns, [=](auto lanes, int64_t i) FL_LANES {
      lanes.Store(Activate<kAct>(hn::Add(lanes.Load(y + i), lanes.Load(bias + i))), y + i);
    });
  }
}

void BiasActivation(Activation act, int64_t rows, int64_t columns, const float* bias, float* y) {
  switch (act) {
    case Activation::kNone:
      return Forward<Activation::kNone>(rows, columns, bias, y);
    case Activation::kRelu:
      return Forward<Activation::kRelu>(rows, columns, bias, y);
    case Activation::kSigmoid:
      return Forward<Activation::kSigmoid>(rows, columns, bias, y);
    case Activation::kTanh:
      return Forward<Activation::kTanh>(rows, columns, bias, y);
  }
}

// Processes kRows rows together, so that the column sums are loaded and stored once for all of
// them.
template <Activation kAct, int kRows>
HWY_INLINE void BackwardRows(int64_t columns, const float* y, float* dy, float* dbias) {
  ForEachVector(columns, [=](auto lanes, int64_t i) FL_LANES {
    FloatVec sum = lanes.Load(dbias + i);
    for (int r = 0; r < kRows; ++r) {
      const int64_t at = r * columns + i;
      const FloatVec gradient = Gradient<kAct>(lanes.Load(y + at), lanes.Load(dy + at));
      if constexpr (kAct != Activation::kNone) lanes.Store(gradient, dy + at);
      sum = hn::Add(sum, gradient);
    }
    lanes.Store(sum, dbias + i);
  });
}

template <Activation kAct>
void Backward(int64_t rows, int64_t columns, const float* y, float* dy, float* dbias) {
  if (dbias == nullptr) {
    if constexpr (kAct == Activation::kNone) return;
    ForEachVector(rows * columns, [=](auto lanes, int64_t i) FL_LANES {
      lanes.Store(Gradient<kAct>(lanes.Load(y + i), lanes.Load(dy + i)), dy + i);
    });
    return;
  }
  constexpr int kRows = 4;
  int64_t r = 0;
  for (; r + kRows <= rows; r += kRows) {
    BackwardRows<kAct, kRows>(columns, y + r * columns, dy + r * columns, dbias);
  }
  for (; r < rows; ++r) BackwardRows<kAct, 1>(columns, y + r * columns, dy + r * columns, dbias);
}

void BiasActivationBackward(Activation act, int64_t rows, int64_t columns, const float* y,
                            float* dy, float* dbias) {
  switch (act) {
    case Activation::kNone:
      // The slope is 1 for any y, so y may be null.
      return Backward<Activation::kNone>(rows, columns, dy, dy, dbias);
    case Activation::kRelu:
      return Backward<Activation::kRelu>(rows, columns, y, dy, dbias);
    case Activation::kSigmoid:
      return Backward<Activation::kSigmoid>(rows, columns, y, dy, dbias);
    case Activation::kTanh:
      return Backward<Activation::kTanh>(rows, columns, y, dy, dbias);
  }
}

// Rows of up to kNarrow columns are transposed so that a vector holds one column of many rows: with
// two classes most lanes of every exponential would otherwise be empty.
constexpr int64_t kNarrow = 16;
constexpr int64_t kMaxLanes = HWY_MAX_BYTES / sizeof(float);

struct NarrowBlock {
  HWY_ALIGN float values[kNarrow * kMaxLanes];

  HWY_INLINE FloatVec Get(int64_t column) const {
    return hn::Load(FloatTag(), values + column * LaneCount());
  }
  HWY_INLINE void Set(int64_t column, FloatVec v) {
    hn::Store(v, FloatTag(), values + column * LaneCount());
  }
  // The lanes of missing rows are zero.
  HWY_INLINE void Read(int64_t rows, int64_t columns, const float* x) {
    const int64_t lanes = LaneCount();
    if (rows < lanes) std::fill_n(values, columns * lanes, 0.0f);
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) values[c * lanes + r] = x[r * columns + c];
    }
  }
  HWY_INLINE void Write(int64_t rows, int64_t columns, float* y) const {
    const int64_t lanes = LaneCount();
    for (int64_t r = 0; r < rows; ++r) {
      for (int64_t c = 0; c < columns; ++c) y[r * columns + c] = values[c * lanes + r];
    }
  }
};

template <bool kLog>
HWY_INLINE void SoftmaxOfBlock(int64_t columns, NarrowBlock& block) {
  FloatVec top = block.Get(0);
  for (int64_t c = 1; c < columns; ++c) top = hn::Max(top, block.Get(c));
  FloatVec sum = hn::Zero(FloatTag());
  for (int64_t c = 0; c < columns; ++c) {
    const FloatVec shifted = hn::Sub(block.Get(c), top);
    const FloatVec e = ExpOf(shifted);
    sum = hn::Add(sum, e);
    block.Set(c, kLog ? shifted : e);
  }
  const FloatVec norm = kLog ? LogOf(sum) : hn::Div(SetAll(1.0f), sum);
  for (int64_t c = 0; c < columns; ++c) {
    const FloatVec v = block.Get(c);
    block.Set(c, kLog ? hn::Sub(v, norm) : hn::Mul(v, norm));
  }
}

template <bool kLog>
void NarrowSoftmax(int64_t rows, int64_t columns, const float* x, float* y) {
  NarrowBlock block;
  for (int64_t r = 0; r < rows; r += LaneCount()) {
    const int64_t count = std::min(LaneCount(), rows - r);
    block.Read(count, columns, x + r * columns);
    SoftmaxOfBlock<kLog>(columns, block);
    block.Write(count, columns, y + r * columns);
  }
}

template <bool kLog>
void WideSoftmaxRow(int64_t columns, const float* x, float* y) {
  const FloatVec lowest = SetAll(-std::numeric_limits<float>::infinity());
  FloatVec top = lowest;
  ForEachVector(columns, [&](auto lanes, int64_t i) FL_LANES {
    top = hn::Max(top, lanes.Keep(lanes.Load(x + i), lowest));
  });
  top = hn::MaxOfLanes(FloatTag(), top);
  FloatVec sum = hn::Zero(FloatTag());
  ForEachVector(columns, [&](auto lanes, int64_t i) FL_LANES {
    const FloatVec shifted = hn::Sub(lanes.Load(x + i), top);
    const FloatVec e = ExpOf(shifted);
    sum = hn::Add(sum, lanes.Keep(e, hn::Zero(FloatTag())));
    lanes.Store(kLog ? shifted : e, y + i);
  });
  sum = hn::SumOfLanes(FloatTag(), sum);
  const FloatVec norm = kLog ? LogOf(sum) : hn::Div(SetAll(1.0f), sum);
  ForEachVector(columns, [=](auto lanes, int64_t i) FL_LANES {
    const FloatVec v = lanes.Load(y + i);
    lanes.Store(kLog ? hn::Sub(v, norm) : hn::Mul(v, norm), y + i);
  });
}

template <bool kLog>
HWY_INLINE void SoftmaxOrLog(int64_t rows, int64_t columns, const float* x, float* y) {
  if (columns <= kNarrow) return NarrowSoftmax<kLog>(rows, columns, x, y);
  for (int64_t r = 0; r < rows; ++r) {
    WideSoftmaxRow<kLog>(columns, x + r * columns, y + r * columns);
  }
}

void Softmax(int64_t rows, int64_t columns, const float* x, float* y) {
  SoftmaxOrLog<false>(rows, columns, x, y);
}
void LogSoftmax(int64_t rows, int64_t columns, const float* x, float* y) {
  SoftmaxOrLog<true>(rows, columns, x, y);
}

// dx += y (dy - sum(y dy)) for softmax, dy - exp(y) sum(dy) for its logarithm.
template <bool kLog>
HWY_INLINE FloatVec SoftmaxTerm(FloatVec y, FloatVec dy) {
  return kLog ? dy : hn::Mul(y, dy);
}
template <bool kLog>
HWY_INLINE FloatVec SoftmaxGradient(FloatVec y, FloatVec dy, FloatVec sum) {
  return kLog ? hn::NegMulAdd(ExpOf(y), sum, dy) : hn::Mul(y, hn::Sub(dy, sum));
}

template <bool kLog>
void NarrowSoftmaxBackward(int64_t rows, int64_t columns, const float* y, const float* dy,
                           float* dx) {
  NarrowBlock ys, dys, dxs;
  for (int64_t r = 0; r < rows; r += LaneCount()) {
    const int64_t count = std::min(LaneCount(), rows - r);
    ys.Read(count, columns, y + r * columns);
    dys.Read(count, columns, dy + r * columns);
    dxs.Read(count, columns, dx + r * columns);
    FloatVec sum = hn::Zero(FloatTag());
    for (int64_t c = 0; c < columns; ++c) {
      sum = hn::Add(sum, SoftmaxTerm<kLog>(ys.Get(c), dys.Get(c)));
    }
    for (int64_t c = 0; c < columns; ++c) {
      dxs.Set(c, hn::Add(dxs.Get(c), SoftmaxGradient<kLog>(ys.Get(c), dys.Get(c), sum)));
    }
    dxs.Write(count, columns, dx + r * columns);
  }
}

template <bool kLog>
void WideSoftmaxBackwardRow(int64_t columns, const float* y, const float* dy, float* dx) {
  FloatVec sum = hn::Zero(FloatTag());
  ForEachVector(columns, [&](auto lanes, int64_t i) FL_LANES {
    sum = hn::Add(sum, SoftmaxTerm<kLog>(lanes.Load(y + i), lanes.Load(dy + i)));
  });
  sum = hn::SumOfLanes(FloatTag(), sum);
  ForEachVector(columns, [=](auto lanes, int64_t i) FL_LANES {
    const FloatVec gradient = SoftmaxGradient<kLog>(lanes.Load(y + i), lanes.Load(dy + i), sum);
    lanes.Store(hn::Add(lanes.Load(dx + i), gradient), dx + i);
  });
}

template <bool kLog>
HWY_INLINE void SoftmaxOrLogBackward(int64_t rows, int64_t columns, const float* y, const float* dy,
                                     float* dx) {
  if (columns <= kNarrow) return NarrowSoftmaxBackward<kLog>(rows, columns, y, dy, dx);
  for (int64_t r = 0; r < rows; ++r) {
    const int64_t at = r * columns;
    WideSoftmaxBackwardRow<kLog>(columns, y + at, dy + at, dx + at);
  }
}

void SoftmaxBackward(int64_t rows, int64_t columns, const float* y, const float* dy, float* dx) {
  SoftmaxOrLogBackward<false>(rows, columns, y, dy, dx);
}
void LogSoftmaxBackward(int64_t rows, int64_t columns, const float* y, const float* dy, float* dx) {
  SoftmaxOrLogBackward<true>(rows, columns, y, dy, dx);
}

}  // namespace flotilla::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flotilla::kernels {

HWY_EXPORT(BiasActivation);
HWY_EXPORT(BiasActivationBackward);
HWY_EXPORT(Softmax);
HWY_EXPORT(LogSoftmax);
HWY_EXPORT(SoftmaxBackward);
HWY_EXPORT(LogSoftmaxBackward);

void BiasActivation(Activation act, int64_t rows, int64_t columns, const float* bias, float* y) {
  HWY_DYNAMIC_DISPATCH(BiasActivation)(act, rows, columns, bias, y);
}
void BiasActivationBackward(Activation act, int64_t rows, int64_t columns, const float* y,
                            float* dy, float* dbias) {
  HWY_DYNAMIC_DISPATCH(BiasActivationBackward)(act, rows, columns, y, dy, dbias);
}
void Softmax(int64_t rows, int64_t columns, const float* x, float* y) {
  HWY_DYNAMIC_DISPATCH(Softmax)(rows, columns, x, y);
}
void LogSoftmax(int64_t rows, int64_t columns, const float* x, float* y) {
  HWY_DYNAMIC_DISPATCH(LogSoftmax)(rows, columns, x, y);
}
void SoftmaxBackward(int64_t rows, int64_t columns, const float* y, const float* dy, float* dx) {
  HWY_DYNAMIC_DISPATCH(SoftmaxBackward)(rows, columns, y, dy, dx);
}
void LogSoftmaxBackward(int64_t rows, int64_t columns, const float* y, const float* dy, float* dx) {
  HWY_DYNAMIC_DISPATCH(LogSoftmaxBackward)(rows, columns, y, dy, dx);
}

}  // namespace flotilla::kernels
#endif  // HWY_ONCE
