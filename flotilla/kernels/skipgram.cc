// Outputs are processed in groups of six: their rows and the sums of their gradients are twelve
// vectors, which together with the current row just fill the registers of AVX2. A window with five
// negatives is one group, so that no row is read or written more than twice.
#include "flotilla/kernels/skipgram.h"

#include <algorithm>

#include "flotilla/base/status.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "flotilla/kernels/skipgram.cc"
#include "hwy/foreach_target.h"

#include "flotilla/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace flotilla::kernels::HWY_NAMESPACE {

constexpr int64_t kGroup = kWindowGroup;

using Rows = float* const*;

// ---- Logits ----

#if HWY_TARGET != HWY_SCALAR
// Four lanes whose sum is that of all lanes.
template <class D>
HWY_INLINE auto FoldToFour(D d, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(d) > 4) {
    const hn::Half<D> half;
    return FoldToFour(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  } else {
    return v;
  }
}
#endif

// out[i] = sum of the lanes of v[i], for i < 4. Cheaper than four separate sums.
HWY_INLINE void StoreFourSums(const FloatVec* v, float* out) {
#if HWY_TARGET == HWY_SCALAR
  for (int i = 0; i < 4; ++i) out[i] = hn::GetLane(v[i]);
#else
  const hn::CappedTag<float, 4> d;
  const auto a = FoldToFour(FloatTag(), v[0]), b = FoldToFour(FloatTag(), v[1]);
  const auto c = FoldToFour(FloatTag(), v[2]), e = FoldToFour(FloatTag(), v[3]);
  const auto ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  const auto ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::Add(hn::ConcatLowerLower(d, ce, ab), hn::ConcatUpperUpper(d, ce, ab)), d, out);
#endif
}

// logits (kRows, kCols) of kRows inputs. Writes up to three floats past their end.
template <int kRows, int kCols>
HWY_INLINE void LogitTile(int64_t dim, Rows x, Rows w, float* logits) {
  constexpr int kSums = (kRows * kCols + 3) / 4 * 4;
  FloatVec sums[kSums];
  for (auto& sum : sums) sum = hn::Zero(FloatTag());
  ForEachVector(dim, [&](auto lanes, int64_t at) FL_LANES {
    FloatVec row[kRows];
    for (int r = 0; r < kRows; ++r) row[r] = lanes.Load(x[r] + at);
    for (int c = 0; c < kCols; ++c) {
      const FloatVec column = lanes.Load(w[c] + at);
      for (int r = 0; r < kRows; ++r) {
        sums[r * kCols + c] = hn::MulAdd(row[r], column, sums[r * kCols + c]);
      }
    }
  });
  for (int s = 0; s < kSums; s += 4) StoreFourSums(sums + s, logits + s);
}

template <int kCols>
HWY_INLINE void Logits(int64_t dim, int64_t m, Rows x, Rows w, Rows biases, float* logits) {
  int64_t r = 0;
  for (; r + 2 <= m; r += 2) LogitTile<2, kCols>(dim, x + r, w, logits + r * kCols);
  if (r < m) LogitTile<1, kCols>(dim, x + r, w, logits + r * kCols);
  if (biases == nullptr) return;
  for (r = 0; r < m; ++r) {
    for (int c = 0; c < kCols; ++c) logits[r * kCols + c] += *biases[c];
  }
}

// ---- Errors ----

// Sum of the cross entropies of n logits with label 0: max(x, 0) + log(1 + exp(-|x|)).
HWY_INLINE double NegativeLoss(int64_t n, const float* logits) {
  const FloatVec zero = hn::Zero(FloatTag());
  FloatVec sum = zero;
  ForEachVector(n, [&](auto lanes, int64_t i) FL_LANES {
    const FloatVec x = lanes.Load(logits + i);
    const FloatVec log = LogOf(hn::Add(SetAll(1), ExpOf(hn::Neg(hn::Abs(x)))));
    sum = hn::Add(sum, lanes.Keep(hn::Add(hn::Max(x, zero), log), zero));
  });
  return SumLanes(sum);
}

// x = -rate sigmoid(x). Works on whole vectors: floats past the n values change too.
HWY_INLINE void NegativeErrors(int64_t n, float rate, float* x) {
  const FloatVec minus_rate = SetAll(-rate);
  for (int64_t i = 0; i < n; i += LaneCount()) {
    hn::StoreU(hn::Mul(minus_rate, SigmoidOf(hn::LoadU(FloatTag(), x + i))), FloatTag(), x + i);
  }
}

// ---- Updates ----

// The columns [at, at + lanes) of all rows. With kDirect x += g w; otherwise x stays and dx (m,
// dim) += g w.
template <int kCols, bool kDirect, class D>
HWY_INLINE void UpdateColumns(D d, int64_t at, int64_t m, Rows x, Rows w, const float* g, float* dx,
                              int64_t dim) {
  using V = hn::Vec<D>;
  V row[kCols], sum[kCols];
  for (int c = 0; c < kCols; ++c) {
    row[c] = hn::LoadU(d, w[c] + at);
    sum[c] = hn::Zero(d);
  }
  for (int64_t r = 0; r < m; ++r, g += kCols) {
    const V input = hn::LoadU(d, x[r] + at);
    float* to = kDirect ? x[r] + at : dx + r * dim + at;
    V change = kDirect ? input : hn::LoadU(d, to);
    for (int c = 0; c < kCols; ++c) {
      const V error = hn::Set(d, g[c]);
      sum[c] = hn::MulAdd(error, input, sum[c]);
      change = hn::MulAdd(error, row[c], change);
    }
    hn::StoreU(change, d, to);
  }
  // Loaded again: two of the rows may be the same.
  for (int c = 0; c < kCols; ++c) {
    hn::StoreU(hn::Add(hn::LoadU(d, w[c] + at), sum[c]), d, w[c] + at);
  }
}

template <int kCols, bool kDirect>
HWY_INLINE void Update(int64_t dim, int64_t m, Rows x, Rows w, Rows biases, const float* g,
                       float* dx) {
  ForEachPiece(dim, [&](auto tag, int64_t at)
                        FL_LANES { UpdateColumns<kCols, kDirect>(tag, at, m, x, w, g, dx, dim); });
  if (biases == nullptr) return;
  for (int64_t r = 0; r < m; ++r) {
    for (int c = 0; c < kCols; ++c) *biases[c] += g[r * kCols + c];
  }
}

// ---- The block ----

// Calls body(constant) for the number of outputs in a group.
template <class Body>
HWY_INLINE void WithColumns(int64_t columns, Body body) {
  switch (columns) {
    case 1:
      return body(std::integral_constant<int, 1>());
    case 2:
      return body(std::integral_constant<int, 2>());
    case 3:
      return body(std::integral_constant<int, 3>());
    case 4:
      return body(std::integral_constant<int, 4>());
    case 5:
      return body(std::integral_constant<int, 5>());
    default:
      return body(std::integral_constant<int, 6>());
  }
}

// Processes one group of outputs at a time; the logits of a group are contiguous, group after
// group. Updates x, or dx when it is not null.
HWY_INLINE void RunBlock(const WindowBlock& block, int64_t m, Rows x, float* errors, float* dx,
                         double* loss) {
  const int64_t dim = block.dim, n = static_cast<int64_t>(block.outputs.size());
  const Rows w = block.outputs.data();
  const auto biases = [&](int64_t first) {
    return block.biases.empty() ? nullptr : block.biases.data() + first;
  };
  for (int64_t first = 0; first < n; first += kGroup) {
    WithColumns(std::min(kGroup, n - first), [&](auto columns) FL_LANES {
      Logits<columns()>(dim, m, x, w + first, biases(first), errors + first * m);
    });
  }
  const int64_t pitch = std::min(kGroup, n);  // between the true pairs
  if (loss != nullptr) {
    *loss += NegativeLoss(m * n, errors);
    for (int64_t r = 0; r < m; ++r) *loss -= errors[r * pitch];
  }
  NegativeErrors(m * n, block.rate, errors);
  for (int64_t r = 0; r < m; ++r) errors[r * pitch] += block.rate;
  for (int64_t first = 0; first < n; first += kGroup) {
    WithColumns(std::min(kGroup, n - first), [&](auto columns) FL_LANES {
      const float* g = errors + first * m;
      if (dx == nullptr) {
        Update<columns(), true>(dim, m, x, w + first, biases(first), g, dx);
      } else {
        Update<columns(), false>(dim, m, x, w + first, biases(first), g, dx);
      }
    });
  }
}

// to += factor x
HWY_INLINE void AddScaled(int64_t dim, float factor, const float* x, float* to) {
  ForEachPiece(dim, [&](auto d, int64_t at) FL_LANES {
    const auto change = hn::Mul(hn::Set(d, factor), hn::LoadU(d, x + at));
    hn::StoreU(hn::Add(hn::LoadU(d, to + at), change), d, to + at);
  });
}

void SkipgramUpdate(const WindowBlock& block, float* errors, float* dx, double* loss) {
  const auto m = static_cast<int64_t>(block.inputs.size());
  RunBlock(block, m, block.inputs.data(), errors, dx, loss);
  if (dx == nullptr) return;
  for (int64_t r = 0; r < m; ++r) AddScaled(block.dim, 1, dx + r * block.dim, block.inputs[r]);
}

// `joined` and `dx` have dim floats, zeros.
void CbowUpdate(const WindowBlock& block, CbowRule rule, float* errors, float* joined, float* dx,
                double* loss) {
  const float part = 1.0f / static_cast<float>(block.inputs.size());
  const float forward = rule == CbowRule::kSum ? 1 : part;
  const float back = rule == CbowRule::kMean ? 1 : part;
  for (const float* input : block.inputs) AddScaled(block.dim, forward, input, joined);
  RunBlock(block, 1, &joined, errors, dx, loss);
  for (float* input : block.inputs) AddScaled(block.dim, back, dx, input);
}

}  // namespace flotilla::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flotilla::kernels {
namespace {

HWY_EXPORT(SkipgramUpdate);
HWY_EXPORT(CbowUpdate);

// Number of floats past the errors that whole vectors may touch.
constexpr size_t kSlack = 64;

float* ErrorsFor(const WindowBlock& block, size_t rows, WindowScratch* scratch) {
  FL_CHECK(block.dim >= 1 && !block.outputs.empty());
  FL_CHECK(block.biases.empty() || block.biases.size() == block.outputs.size());
  const size_t size = rows * block.outputs.size() + kSlack;
  if (scratch->errors.size() < size) scratch->errors.resize(size);
  return scratch->errors.data();
}

}  // namespace

void SkipgramUpdate(const WindowBlock& block, WindowScratch* scratch, double* loss) {
  if (block.inputs.empty()) return;
  float* errors = ErrorsFor(block, block.inputs.size(), scratch);
  float* dx = nullptr;
  // Later groups must see the original inputs, so the changes of the inputs are collected first.
  if (block.outputs.size() > kWindowGroup) {
    scratch->gradients.assign(block.inputs.size() * static_cast<size_t>(block.dim), 0);
    dx = scratch->gradients.data();
  }
  HWY_DYNAMIC_DISPATCH(SkipgramUpdate)(block, errors, dx, loss);
}

void CbowUpdate(const WindowBlock& block, CbowRule rule, WindowScratch* scratch, double* loss) {
  if (block.inputs.empty()) return;
  float* errors = ErrorsFor(block, 1, scratch);
  scratch->gradients.assign(2 * static_cast<size_t>(block.dim), 0);
  float* joined = scratch->gradients.data();
  HWY_DYNAMIC_DISPATCH(CbowUpdate)(block, rule, errors, joined, joined + block.dim, loss);
}

}  // namespace flotilla::kernels
#endif  // HWY_ONCE
