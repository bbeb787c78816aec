#include "flotilla/optim/adamax.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "flotilla/optim/schedule.h"

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

}  // namespace

OptimizerSpec Adamax(double learning_rate, AdamaxOptions options) {
  return Adamax(ConstantRate(learning_rate), options);
}

OptimizerSpec Adamax(ScheduleSpec learning_rate, AdamaxOptions options) {
  OptimizerSpec spec;
  spec.name = "adamax";
  spec.params = {{"beta1", options.beta1}, {"beta2", options.beta2}, {"epsilon", options.epsilon}};
  spec.learning_rate = std::move(learning_rate);
  return spec;
}

std::unique_ptr<UpdateRule> MakeAdamaxRule(const ParamMap& params) {
  AdamaxOptions options;
  ReadParam(params, "beta1", options.beta1);
  ReadParam(params, "beta2", options.beta2);
  ReadParam(params, "epsilon", options.epsilon);
  return std::make_unique<AdamaxRule>(options);
}

}  // namespace flotilla
