// The update rules, compiled once per instruction set and chosen at run time. One loop over arrays
// and one over sparse rows serve all rules; the public functions at the end only dispatch.
#include "flotilla/kernels/update.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "flotilla/kernels/update.cc"
#include "hwy/foreach_target.h"

#include "flotilla/kernels/simd-inl.h"
#include "hwy/cache_control.h"

HWY_BEFORE_NAMESPACE();
namespace flotilla::kernels::HWY_NAMESPACE {

// Each rule is a struct of its terms with kStates and Apply(d, i, g, w, s0, s1), which updates the
// lanes of tag d at offset i. Terms are scalars, broadcast outside the loop by the compiler. kDecay
// is true if any decay is not zero; otherwise the arithmetic of decay is skipped.

HWY_INLINE bool Any(const DecayTerms& decay) { return decay.l1 != 0 || decay.l2 != 0; }

template <bool kDecay, class D, class V = hn::Vec<D>>
HWY_INLINE V Decayed(D d, const DecayTerms& decay, V g, V w) {
  if constexpr (!kDecay) return g;
  const auto l1 = hn::CopySign(hn::Set(d, decay.l1), w);
  const auto sign = hn::IfThenZeroElse(hn::Eq(w, hn::Zero(d)), l1);
  return hn::Add(hn::MulAdd(hn::Set(d, decay.l2), w, g), sign);
}

template <bool kDecay>
struct Sgd {
  static constexpr int kStates = 0;
  SgdTerms t;

  template <class D>
  HWY_INLINE void Apply(D d, int64_t i, const float* g, float* w, float*, float*) const {
    const auto weight = hn::LoadU(d, w + i);
    const auto gradient = Decayed<kDecay>(d, t.decay, hn::LoadU(d, g + i), weight);
    hn::StoreU(hn::NegMulAdd(hn::Set(d, t.rate), gradient, weight), d, w + i);
  }
};

template <bool kDecay, bool kNesterov>
struct Momentum {
  static constexpr int kStates = 1;
  MomentumTerms t;

  template <class D>
  HWY_INLINE void Apply(D d, int64_t i, const float* g, float* w, float* velocity, float*) const {
    const auto weight = hn::LoadU(d, w + i);
    const auto gradient = Decayed<kDecay>(d, t.decay, hn::LoadU(d, g + i), weight);
    const auto mu = hn::Set(d, t.momentum);
    const auto speed = hn::MulAdd(mu, hn::LoadU(d, velocity + i), gradient);
    const auto step = kNesterov ? hn::MulAdd(mu, speed, gradient) : speed;
    hn::StoreU(speed, d, velocity + i);
    hn::StoreU(hn::NegMulAdd(hn::Set(d, t.rate), step, weight), d, w + i);
  }
};

template <bool kDecay, bool kForgets>
struct Adagrad {
  static constexpr int kStates = 1;
  AdagradTerms t;

  template <class D>
  HWY_INLINE void Apply(D d, int64_t i, const float* g, float* w, float* h, float*) const {
    const auto weight = hn::LoadU(d, w + i);
    const auto gradient = Decayed<kDecay>(d, t.decay, hn::LoadU(d, g + i), weight);
    const auto old = hn::LoadU(d, h + i);
    const auto fresh = kForgets ? hn::Mul(hn::Set(d, 1.0f - t.keep), gradient) : gradient;
    const auto base = kForgets ? hn::Mul(hn::Set(d, t.keep), old) : old;
    const auto sum = hn::MulAdd(fresh, gradient, base);
    const auto divisor = hn::Add(hn::Sqrt(sum), hn::Set(d, t.epsilon));
    hn::StoreU(sum, d, h + i);
    hn::StoreU(hn::Sub(weight, hn::Div(hn::Mul(hn::Set(d, t.rate), gradient), divisor)), d, w + i);
  }
};

// Square root and division. On targets with wide vectors the hardware instructions take longer than
// the rest of an update: there, an estimate of 12 to 14 bits and one Newton step are used, accurate
// to a few units in the last place.
#if HWY_TARGET == HWY_AVX3
template <class D, class V = hn::Vec<D>>
HWY_INLINE V RootOf(D d, V x) {
  // Within these bounds neither the estimate nor its product with x leaves the range.
  const V at_least = hn::Max(x, hn::Set(d, 1e-37f));
  const V bounded = hn::Min(at_least, hn::Set(d, 3e38f));
  const V estimate = hn::ApproximateReciprocalSqrt(bounded);
  const V half = hn::Mul(estimate, hn::Set(d, 0.5f));
  const V root = hn::Mul(bounded, estimate);
  return hn::MulAdd(root, hn::NegMulAdd(root, half, hn::Set(d, 0.5f)), root);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Quotient(D d, V x, V y) {
  const V estimate = hn::ApproximateReciprocal(y);
  const V error = hn::NegMulAdd(y, estimate, hn::Set(d, 1.0f));
  return hn::Mul(x, hn::MulAdd(estimate, error, estimate));
}
#else
template <class D, class V = hn::Vec<D>>
HWY_INLINE V RootOf(D, V x) {
  return hn::Sqrt(x);
}
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Quotient(D, V x, V y) {
  return hn::Div(x, y);
}
#endif

template <bool kDecay>
struct Adam {
  static constexpr int kStates = 2;
  AdamTerms t;

  template <class D>
  HWY_INLINE void Apply(D d, int64_t i, const float* g, float* w, float* m, float* v) const {
    auto weight = hn::LoadU(d, w + i);
    const auto gradient = Decayed<kDecay>(d, t.decay, hn::LoadU(d, g + i), weight);
    if constexpr (kDecay) weight = hn::NegMulAdd(hn::Set(d, t.decoupled_decay), weight, weight);
    const auto first = hn::MulAdd(hn::Set(d, t.beta1), hn::LoadU(d, m + i),
                                  hn::Mul(hn::Set(d, 1.0f - t.beta1), gradient));
    const auto second =
        hn::MulAdd(hn::Set(d, t.beta2), hn::LoadU(d, v + i),
                   hn::Mul(hn::Mul(hn::Set(d, 1.0f - t.beta2), gradient), gradient));
    const auto divisor = hn::Add(RootOf(d, second), hn::Set(d, t.epsilon));
    hn::StoreU(first, d, m + i);
    hn::StoreU(second, d, v + i);
    hn::StoreU(hn::Sub(weight, Quotient(d, hn::Mul(hn::Set(d, t.rate), first), divisor)), d, w + i);
  }
};

template <class Rule>
HWY_INLINE void UpdateArrays(const Rule& given, int64_t n, const float* g, float* w, float* s0,
                             float* s1) {
  const Rule rule = given;  // a local copy, which no store through a pointer can change
  ForEachPiece(n, [=](auto d, int64_t i) FL_LANES { rule.Apply(d, i, g, w, s0, s1); });
}

// Rows lie anywhere in memory, so all cache lines of a row some distance ahead are prefetched.
constexpr int64_t kPrefetchRows = 16;
constexpr int64_t kFloatsPerLine = 16;

template <class Rule, class Dim>
HWY_INLINE void UpdateRowsOf(Rule rule, int64_t count, Dim dim, const float* grads,
                             float* const* rows) {
  const int64_t size = (1 + Rule::kStates) * dim;
  for (int64_t r = 0; r < count; ++r) {
    if (r + kPrefetchRows < count) {
      const float* ahead = rows[r + kPrefetchRows];
      for (int64_t i = 0; i < size; i += kFloatsPerLine) hwy::Prefetch(ahead + i);
      hwy::Prefetch(ahead + size - 1);
    }
    float* w = rows[r];
    const float* g = grads + r * dim;
    ForEachPiece(dim,
                 [=](auto d, int64_t i) FL_LANES { rule.Apply(d, i, g, w, w + dim, w + 2 * dim); });
  }
}

template <class Rule>
void UpdateRows(const Rule& rule, int64_t count, int64_t dim, const float* grads,
                float* const* rows) {
  if (dim == 0) return;
  WithDim(dim, [&](auto d) FL_LANES { UpdateRowsOf(rule, count, d, grads, rows); });
}

// Calls body with the rule that the terms select.
template <class Body>
HWY_INLINE void WithSgd(const SgdTerms& t, Body body) {
  Any(t.decay) ? body(Sgd<true>{t}) : body(Sgd<false>{t});
}
template <class Body>
HWY_INLINE void WithAdagrad(const AdagradTerms& t, Body body) {
  if (Any(t.decay)) {
    t.decayed ? body(Adagrad<true, true>{t}) : body(Adagrad<true, false>{t});
  } else {
    t.decayed ? body(Adagrad<false, true>{t}) : body(Adagrad<false, false>{t});
  }
}
template <class Body>
HWY_INLINE void WithAdam(const AdamTerms& t, Body body) {
  Any(t.decay) || t.decoupled_decay != 0 ? body(Adam<true>{t}) : body(Adam<false>{t});
}

void SgdUpdate(const SgdTerms& t, int64_t n, const float* g, float* w) {
  WithSgd(t, [=](auto rule) FL_LANES { UpdateArrays(rule, n, g, w, nullptr, nullptr); });
}
void SgdUpdateRows(const SgdTerms& t, int64_t count, int64_t dim, const float* grads,
                   float* const* rows) {
  WithSgd(t, [=](auto rule) FL_LANES { UpdateRows(rule, count, dim, grads, rows); });
}

void MomentumUpdate(const MomentumTerms& t, int64_t n, const float* g, float* w, float* velocity) {
  const auto run = [=](auto rule) FL_LANES { UpdateArrays(rule, n, g, w, velocity, nullptr); };
  if (Any(t.decay)) {
    t.nesterov ? run(Momentum<true, true>{t}) : run(Momentum<true, false>{t});
  } else {
    t.nesterov ? run(Momentum<false, true>{t}) : run(Momentum<false, false>{t});
  }
}

void AdagradUpdate(const AdagradTerms& t, int64_t n, const float* g, float* w, float* h) {
  WithAdagrad(t, [=](auto rule) FL_LANES { UpdateArrays(rule, n, g, w, h, nullptr); });
}
void AdagradUpdateRows(const AdagradTerms& t, int64_t count, int64_t dim, const float* grads,
                       float* const* rows) {
  WithAdagrad(t, [=](auto rule) FL_LANES { UpdateRows(rule, count, dim, grads, rows); });
}

void AdamUpdate(const AdamTerms& t, int64_t n, const float* g, float* w, float* m, float* v) {
  WithAdam(t, [=](auto rule) FL_LANES { UpdateArrays(rule, n, g, w, m, v); });
}
void AdamUpdateRows(const AdamTerms& t, int64_t count, int64_t dim, const float* grads,
                    float* const* rows) {
  WithAdam(t, [=](auto rule) FL_LANES { UpdateRows(rule, count, dim, grads, rows); });
}

}  // namespace flotilla::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace flotilla::kernels {

HWY_EXPORT(SgdUpdate);
HWY_EXPORT(SgdUpdateRows);
HWY_EXPORT(MomentumUpdate);
HWY_EXPORT(AdagradUpdate);
HWY_EXPORT(AdagradUpdateRows);
HWY_EXPORT(AdamUpdate);
HWY_EXPORT(AdamUpdateRows);

void SgdUpdate(const SgdTerms& t, int64_t n, const float* g, float* w) {
  HWY_DYNAMIC_DISPATCH(SgdUpdate)(t, n, g, w);
}
void SgdUpdateRows(const SgdTerms& t, int64_t count, int64_t dim, const float* grads,
                   float* const* rows) {
  HWY_DYNAMIC_DISPATCH(SgdUpdateRows)(t, count, dim, grads, rows);
}
void MomentumUpdate(const MomentumTerms& t, int64_t n, const float* g, float* w, float* velocity) {
  HWY_DYNAMIC_DISPATCH(MomentumUpdate)(t, n, g, w, velocity);
}
void AdagradUpdate(const AdagradTerms& t, int64_t n, const float* g, float* w, float* h) {
  HWY_DYNAMIC_DISPATCH(AdagradUpdate)(t, n, g, w, h);
}
void AdagradUpdateRows(const AdagradTerms& t, int64_t count, int64_t dim, const float* grads,
                       float* const* rows) {
  HWY_DYNAMIC_DISPATCH(AdagradUpdateRows)(t, count, dim, grads, rows);
}
void AdamUpdate(const AdamTerms& t, int64_t n, const float* g, float* w, float* m, float* v) {
  HWY_DYNAMIC_DISPATCH(AdamUpdate)(t, n, g, w, m, v);
}
void AdamUpdateRows(const AdamTerms& t, int64_t count, int64_t dim, const float* grads,
                    float* const* rows) {
  HWY_DYNAMIC_DISPATCH(AdamUpdateRows)(t, count, dim, grads, rows);
}

}  // namespace flotilla::kernels
#endif  // HWY_ONCE
