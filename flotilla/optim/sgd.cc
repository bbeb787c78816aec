#include "flotilla/optim/sgd.h"

#include <utility>

#include "flotilla/optim/schedule.h"

namespace flotilla {

namespace {

class SgdRule final : public UpdateRule {
 public:
  UpdateForm form() const override { return UpdateForm::kPlain; }
  int states() const override { return 0; }

  void Apply(const UpdateContext& context, int64_t n, const float* g, float* w,
             float* /*state*/) const override {
    kernels::SgdUpdate({context.rate, context.decay}, n, g, w);
  }

  void ApplyRows(const UpdateContext& context, int64_t dim, const float* grads,
                 std::span<float* const> rows) const override {
    kernels::SgdUpdateRows({context.rate, context.decay}, std::ssize(rows), dim, grads,
                           rows.data());
  }
};

}  // namespace

OptimizerSpec Sgd(double learning_rate) { return Sgd(ConstantRate(learning_rate)); }

OptimizerSpec Sgd(ScheduleSpec learning_rate) {
  OptimizerSpec spec;
  spec.name = "sgd";
  spec.learning_rate = std::move(learning_rate);
  return spec;
}

std::unique_ptr<UpdateRule> MakeSgdRule(const ParamMap& /*params*/) {
  return std::make_unique<SgdRule>();
}

}  // namespace flotilla
