#include "flotilla/optim/momentum.h"

#include <utility>

#include "flotilla/optim/schedule.h"

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

}  // namespace

OptimizerSpec Momentum(double learning_rate, MomentumOptions options) {
  return Momentum(ConstantRate(learning_rate), options);
}

OptimizerSpec Momentum(ScheduleSpec learning_rate, MomentumOptions options) {
  OptimizerSpec spec;
  spec.name = "momentum";
  spec.params = {{"momentum", options.momentum}, {"nesterov", options.nesterov ? 1.0 : 0.0}};
  spec.learning_rate = std::move(learning_rate);
  return spec;
}

std::unique_ptr<UpdateRule> MakeMomentumRule(const ParamMap& params) {
  MomentumOptions options;
  ReadParam(params, "momentum", options.momentum);
  ReadParam(params, "nesterov", options.nesterov);
  return std::make_unique<MomentumRule>(options);
}

}  // namespace flotilla
