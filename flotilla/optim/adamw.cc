#include "flotilla/optim/adamw.h"

#include <utility>

#include "flotilla/optim/adam.h"
#include "flotilla/optim/schedule.h"

namespace flotilla {

namespace {

class AdamWRule final : public UpdateRule {
 public:
  explicit AdamWRule(const AdamWOptions& options)
      : adam_{options.beta1, options.beta2, options.epsilon}, weight_decay_(options.weight_decay) {}

  int states() const override { return 2; }

  void Apply(const UpdateContext& context, int64_t n, const float* g, float* w,
             float* state) const override {
    kernels::AdamUpdate(Terms(context), n, g, w, state, state + n);
  }

  void ApplyRows(const UpdateContext& context, int64_t dim, const float* grads,
                 std::span<float* const> rows) const override {
    kernels::AdamUpdateRows(Terms(context), std::ssize(rows), dim, grads, rows.data());
  }

 private:
  kernels::AdamTerms Terms(const UpdateContext& context) const {
    return AdamTermsAt(adam_, context, context.rate * weight_decay_);
  }

  const AdamOptions adam_;
  const double weight_decay_;
};

}  // namespace

OptimizerSpec AdamW(double learning_rate, AdamWOptions options) {
  return AdamW(ConstantRate(learning_rate), options);
}

OptimizerSpec AdamW(ScheduleSpec learning_rate, AdamWOptions options) {
  OptimizerSpec spec;
  spec.name = "adamw";
  spec.params = {{"beta1", options.beta1},
                 {"beta2", options.beta2},
                 {"epsilon", options.epsilon},
                 {"weight_decay", options.weight_decay}};
  spec.learning_rate = std::move(learning_rate);
  return spec;
}

std::unique_ptr<UpdateRule> MakeAdamWRule(const ParamMap& params) {
  AdamWOptions options;
  ReadParam(params, "beta1", options.beta1);
  ReadParam(params, "beta2", options.beta2);
  ReadParam(params, "epsilon", options.epsilon);
  ReadParam(params, "weight_decay", options.weight_decay);
  return std::make_unique<AdamWRule>(options);
}

}  // namespace flotilla
