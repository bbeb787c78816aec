#include "flotilla/optim/adam.h"

#include <cmath>
#include <utility>

namespace flotilla {

namespace {

// Bias corrections at a step, needed because the moments start at 0: of the first moment, and the
// root of that of the second.
struct Correction {
  float beta1 = 0, beta2 = 0;
  int64_t step = -1;
  double first = 1, root = 1;
};

// A push requests the same step about fifty times, once for each piece of the dense parameters: the
// powers are cached between calls.
const Correction& CorrectionAt(float beta1, float beta2, int64_t step) {
  thread_local Correction last;
  if (last.step != step || last.beta1 != beta1 || last.beta2 != beta2) {
    const auto t = static_cast<double>(step);
    last = {.beta1 = beta1,
            .beta2 = beta2,
            .step = step,
            .first = 1 - std::pow(static_cast<double>(beta1), t),
            .root = std::sqrt(1 - std::pow(static_cast<double>(beta2), t))};
  }
  return last;
}

class AdamRule final : public UpdateRule {
 public:
  explicit AdamRule(const AdamOptions& options) : options_(options) {}
  explicit AdamRule(const AdamWOptions& options)
      : options_{options.beta1, options.beta2, options.epsilon},
        weight_decay_(options.weight_decay) {}

  int states() const override { return 2; }

  void Apply(const UpdateContext& context, int64_t n, const float* g, float* w,
             float* state) const override {
    kernels::AdamUpdate(TermsAt(context), n, g, w, state, state + n);
  }

  void ApplyRows(const UpdateContext& context, int64_t dim, const float* grads,
                 std::span<float* const> rows) const override {
    kernels::AdamUpdateRows(TermsAt(context), std::ssize(rows), dim, grads, rows.data());
  }

 private:
  kernels::AdamTerms TermsAt(const UpdateContext& context) const {
    // The moments are computed with the betas rounded to float, so the correction uses the powers
    // of the rounded values: with 0.999 itself the first steps would be off by 1e-5.
    const float beta1 = static_cast<float>(options_.beta1);
    const float beta2 = static_cast<float>(options_.beta2);
    const Correction& correction = CorrectionAt(beta1, beta2, context.step);
    return {.rate = static_cast<float>(context.rate * correction.root / correction.first),
            .beta1 = beta1,
            .beta2 = beta2,
            .epsilon = static_cast<float>(options_.epsilon * correction.root),
            .decoupled_decay = static_cast<float>(context.rate * weight_decay_),
            .decay = context.decay};
  }

  const AdamOptions options_;
  const double weight_decay_ = 0;
};

constexpr RuleParam<AdamOptions> kParams[] = {
    {"beta1", &AdamOptions::beta1, ParamRange::kFraction},
    {"beta2", &AdamOptions::beta2, ParamRange::kFraction},
    {"epsilon", &AdamOptions::epsilon, ParamRange::kPositive}};
constexpr RuleParam<AdamWOptions> kDecoupledParams[] = {
    {"beta1", &AdamWOptions::beta1, ParamRange::kFraction},
    {"beta2", &AdamWOptions::beta2, ParamRange::kFraction},
    {"epsilon", &AdamWOptions::epsilon, ParamRange::kPositive},
    {"weight_decay", &AdamWOptions::weight_decay, ParamRange::kNonNegative}};

}  // namespace

OptimizerSpec Adam(Rate rate, AdamOptions options) {
  return SpecWith("adam", std::move(rate), options, kParams);
}

OptimizerSpec AdamW(Rate rate, AdamWOptions options) {
  return SpecWith("adamw", std::move(rate), options, kDecoupledParams);
}

RuleEntry AdamEntry() { return EntryOf<AdamRule>("adam", kParams); }
RuleEntry AdamWEntry() { return EntryOf<AdamRule>("adamw", kDecoupledParams); }

}  // namespace flotilla
