#include "flotilla/optim/rmsprop.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace flotilla {

namespace {

class RmsPropRule final : public UpdateRule {
 public:
  explicit RmsPropRule(const RmsPropOptions& options)
      : rho_(static_cast<float>(options.rho)),
        epsilon_(static_cast<float>(options.epsilon)),
        momentum_(static_cast<float>(options.momentum)),
        centered_(options.centered) {}

  int states() const override { return 1 + (centered_ ? 1 : 0) + (momentum_ > 0 ? 1 : 0); }

  void Apply(const UpdateContext& context, int64_t n, const float* g, float* w,
             float* state) const override {
    float* v = state;
    float* a = centered_ ? state + n : nullptr;
    float* b = momentum_ > 0 ? state + (states() - 1) * n : nullptr;
    for (int64_t i = 0; i < n; ++i) {
      const float gradient = WithDecay(context.decay, g[i], w[i]);
      v[i] = rho_ * v[i] + (1 - rho_) * gradient * gradient;
      float spread = v[i];
      if (a != nullptr) {
        a[i] = rho_ * a[i] + (1 - rho_) * gradient;
        // Rounding can make the variance of equal gradients slightly negative.
        spread = std::max(spread - a[i] * a[i], 0.0f);
      }
      float direction = gradient / (std::sqrt(spread) + epsilon_);
      if (b != nullptr) direction = b[i] = momentum_ * b[i] + direction;
      w[i] -= context.rate * direction;
    }
  }

 private:
  const float rho_;
  const float epsilon_;
  const float momentum_;
  const bool centered_;
};

constexpr RuleParam<RmsPropOptions> kParams[] = {
    {"rho", &RmsPropOptions::rho, ParamRange::kFraction},
    {"epsilon", &RmsPropOptions::epsilon, ParamRange::kPositive},
    {"momentum", &RmsPropOptions::momentum, ParamRange::kFraction},
    {"centered", &RmsPropOptions::centered, ParamRange::kFlag}};

}  // namespace

OptimizerSpec RmsProp(Rate rate, RmsPropOptions options) {
  return SpecWith("rmsprop", std::move(rate), options, kParams);
}

RuleEntry RmsPropEntry() { return EntryOf<RmsPropRule>("rmsprop", kParams); }

}  // namespace flotilla
