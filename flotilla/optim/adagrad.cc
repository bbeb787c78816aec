#include "flotilla/optim/adagrad.h"

#include <algorithm>
#include <utility>

namespace flotilla {

namespace {

class AdagradRule final : public UpdateRule {
 public:
  explicit AdagradRule(const AdagradOptions& options)
      : terms_{.epsilon = static_cast<float>(options.epsilon), .decayed = false, .keep = 0},
        initial_accumulator_(static_cast<float>(options.initial_accumulator)) {}
  explicit AdagradRule(const DecayedAdagradOptions& options)
      : terms_{.epsilon = static_cast<float>(options.epsilon),
               .decayed = true,
               .keep = static_cast<float>(options.rho)} {}

  int states() const override { return 1; }

  void InitState(int64_t n, float* state) const override {
    std::fill_n(state, n, initial_accumulator_);
  }

  void Apply(const UpdateContext& context, int64_t n, const float* g, float* w,
             float* state) const override {
    kernels::AdagradUpdate(TermsAt(context), n, g, w, state);
  }

  void ApplyRows(const UpdateContext& context, int64_t dim, const float* grads,
                 std::span<float* const> rows) const override {
    kernels::AdagradUpdateRows(TermsAt(context), std::ssize(rows), dim, grads, rows.data());
  }

 private:
  kernels::AdagradTerms TermsAt(const UpdateContext& context) const {
    kernels::AdagradTerms terms = terms_;
    terms.rate = context.rate;
    terms.decay = context.decay;
    return terms;
  }

  const kernels::AdagradTerms terms_;
  const float initial_accumulator_ = 0;
};

constexpr RuleParam<AdagradOptions> kParams[] = {
    {"epsilon", &AdagradOptions::epsilon, ParamRange::kPositive},
    {"initial_accumulator", &AdagradOptions::initial_accumulator, ParamRange::kNonNegative}};
constexpr RuleParam<DecayedAdagradOptions> kDecayedParams[] = {
    {"rho", &DecayedAdagradOptions::rho, ParamRange::kFraction},
    {"epsilon", &DecayedAdagradOptions::epsilon, ParamRange::kPositive}};

}  // namespace

OptimizerSpec Adagrad(Rate rate, AdagradOptions options) {
  return SpecWith("adagrad", std::move(rate), options, kParams);
}

OptimizerSpec DecayedAdagrad(Rate rate, DecayedAdagradOptions options) {
  return SpecWith("decayed_adagrad", std::move(rate), options, kDecayedParams);
}

RuleEntry AdagradEntry() { return EntryOf<AdagradRule>("adagrad", kParams); }
RuleEntry DecayedAdagradEntry() { return EntryOf<AdagradRule>("decayed_adagrad", kDecayedParams); }

}  // namespace flotilla
