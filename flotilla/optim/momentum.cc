#include "flotilla/optim/momentum.h"

#include <utility>

namespace flotilla {

namespace {

class MomentumRule final : public UpdateRule {
 public:
  explicit MomentumRule(const MomentumOptions& options)
      : momentum_(static_cast<float>(options.momentum)), nesterov_(options.nesterov) {}

  UpdateForm form() const override { return UpdateForm::kLinear; }
  int states() const override { return 1; }

  void Apply(const UpdateContext& context, int64_t n, const float* g, float* w,
             float* state) const override {
    kernels::MomentumUpdate({context.rate, momentum_, nesterov_, context.decay}, n, g, w, state);
  }

 private:
  const float momentum_;
  const bool nesterov_;
};

constexpr RuleParam<MomentumOptions> kParams[] = {
    {"momentum", &MomentumOptions::momentum, ParamRange::kFraction},
    {"nesterov", &MomentumOptions::nesterov, ParamRange::kFlag}};

}  // namespace

OptimizerSpec Momentum(Rate rate, MomentumOptions options) {
  return SpecWith("momentum", std::move(rate), options, kParams);
}

RuleEntry MomentumEntry() { return EntryOf<MomentumRule>("momentum", kParams); }

}  // namespace flotilla
