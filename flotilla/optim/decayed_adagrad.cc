#include "flotilla/optim/decayed_adagrad.h"

#include <utility>

#include "flotilla/optim/schedule.h"

namespace flotilla {

namespace {

class DecayedAdagradRule final : public UpdateRule {
 public:
  explicit DecayedAdagradRule(const DecayedAdagradOptions& options)
      : rho_(static_cast<float>(options.rho)), epsilon_(static_cast<float>(options.epsilon)) {}

  int states() const override { return 1; }

  void Apply(const UpdateContext& context, int64_t n, const float* g, float* w,
             float* state) const override {
    kernels::AdagradUpdate(Terms(context), n, g, w, state);
  }

  void ApplyRows(const UpdateContext& context, int64_t dim, const float* grads,
                 std::span<float* const> rows) const override {
    kernels::AdagradUpdateRows(Terms(context), std::ssize(rows), dim, grads, rows.data());
  }

 private:
  kernels::AdagradTerms Terms(const UpdateContext& context) const {
    return {.rate = context.rate,
            .epsilon = epsilon_,
            .decayed = true,
            .keep = rho_,
            .decay = context.decay};
  }

  const float rho_;
  const float epsilon_;
};

}  // namespace

OptimizerSpec DecayedAdagrad(double learning_rate, DecayedAdagradOptions options) {
  return DecayedAdagrad(ConstantRate(learning_rate), options);
}

OptimizerSpec DecayedAdagrad(ScheduleSpec learning_rate, DecayedAdagradOptions options) {
  OptimizerSpec spec;
  spec.name = "decayed_adagrad";
  spec.params = {{"rho", options.rho}, {"epsilon", options.epsilon}};
  spec.learning_rate = std::move(learning_rate);
  return spec;
}

std::unique_ptr<UpdateRule> MakeDecayedAdagradRule(const ParamMap& params) {
  DecayedAdagradOptions options;
  ReadParam(params, "rho", options.rho);
  ReadParam(params, "epsilon", options.epsilon);
  return std::make_unique<DecayedAdagradRule>(options);
}

}  // namespace flotilla
