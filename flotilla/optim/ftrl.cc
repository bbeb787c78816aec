#include "flotilla/optim/ftrl.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace flotilla {

namespace {

class FtrlRule final : public UpdateRule {
 public:
  explicit FtrlRule(const FtrlOptions& options)
      : options_(options), initial_n_(static_cast<float>(options.initial_accumulator)) {}

  int states() const override { return 2; }

  void InitState(int64_t n, float* state) const override {
    std::fill_n(state, n, initial_n_);
    std::fill_n(state + n, n, 0.0f);
  }

  void Apply(const UpdateContext& context, int64_t n, const float* g, float* w,
             float* state) const override {
    for (int64_t i = 0; i < n; ++i) {
      const float gradient = WithDecay(context.decay, g[i], w[i]);
      Update(context.rate, gradient, w[i], state[i], state[n + i]);
    }
  }

 private:
  // In double: the growth of n^-lr_power is a small difference of large numbers, and its sum over
  // the steps must equal n^-lr_power itself.
  void Update(double rate, double g, float& w, float& n, float& z) const {
    const double before = Power(n);
    double sum = z;
    if (z == 0 && n == initial_n_) sum = -(options_.beta + before) * w;
    n = static_cast<float>(n + g * g);
    const double after = Power(n);
    sum += rate * g - (after - before) * w;
    z = static_cast<float>(sum);
    // With beta 0 and no gradient yet, only l2 acts on the weight: leave it unchanged.
    if (options_.beta + after == 0) return;
    const double curvature = options_.beta + after + rate * options_.l2;
    const double beyond = std::max(std::abs(sum) - rate * options_.l1, 0.0);
    w = beyond == 0 ? 0.0f : static_cast<float>(-std::copysign(beyond, sum) / curvature);
  }

  double Power(double n) const {
    return options_.lr_power == -0.5 ? std::sqrt(n) : std::pow(n, -options_.lr_power);
  }

  const FtrlOptions options_;
  const float initial_n_;
};

constexpr RuleParam<FtrlOptions> kParams[] = {
    {"l1", &FtrlOptions::l1, ParamRange::kNonNegative},
    {"l2", &FtrlOptions::l2, ParamRange::kNonNegative},
    {"beta", &FtrlOptions::beta, ParamRange::kNonNegative},
    {"lr_power", &FtrlOptions::lr_power, ParamRange::kMinusOneToZero},
    {"initial_accumulator", &FtrlOptions::initial_accumulator, ParamRange::kNonNegative}};

}  // namespace

OptimizerSpec Ftrl(Rate rate, FtrlOptions options) {
  return SpecWith("ftrl", std::move(rate), options, kParams);
}

RuleEntry FtrlEntry() { return EntryOf<FtrlRule>("ftrl", kParams); }

}  // namespace flotilla
