#include "flotilla/optim/sgd.h"

#include <utility>

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

OptimizerSpec Sgd(Rate rate) {
  return {.name = "sgd", .params = {}, .learning_rate = std::move(rate.schedule)};
}

RuleEntry SgdEntry() {
  return {.name = "sgd", .params = {}, .make = [](const ParamMap&) {
            return std::make_unique<SgdRule>();
          }};
}

}  // namespace flotilla
