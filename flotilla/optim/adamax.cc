#include "flotilla/optim/adamax.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace flotilla {

namespace {

class AdamaxRule final : public UpdateRule {
 public:
  explicit AdamaxRule(const AdamaxOptions& options)
      : beta1_(static_cast<float>(options.beta1)),
        beta2_(static_cast<float>(options.beta2)),
        epsilon_(static_cast<float>(options.epsilon)) {}

  int states() const override { return 2; }

  void Apply(const UpdateContext& context, int64_t n, const float* g, float* w,
             float* state) const override {
    const double power = std::pow(static_cast<double>(beta1_), static_cast<double>(context.step));
    const float rate = static_cast<float>(context.rate / (1 - power));
    float* m = state;
    float* u = state + n;
    for (int64_t i = 0; i < n; ++i) {
      const float gradient = WithDecay(context.decay, g[i], w[i]);
      m[i] = beta1_ * m[i] + (1 - beta1_) * gradient;
      u[i] = std::max(beta2_ * u[i], std::abs(gradient) + epsilon_);
      w[i] -= rate * m[i] / u[i];
    }
  }

 private:
  const float beta1_;
  const float beta2_;
  const float epsilon_;
};

constexpr RuleParam<AdamaxOptions> kParams[] = {
    {"beta1", &AdamaxOptions::beta1, ParamRange::kFraction},
    {"beta2", &AdamaxOptions::beta2, ParamRange::kFraction},
    {"epsilon", &AdamaxOptions::epsilon, ParamRange::kPositive}};

}  // namespace

OptimizerSpec Adamax(Rate rate, AdamaxOptions options) {
  return SpecWith("adamax", std::move(rate), options, kParams);
}

RuleEntry AdamaxEntry() { return EntryOf<AdamaxRule>("adamax", kParams); }

}  // namespace flotilla
