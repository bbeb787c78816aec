#include "flotilla/optim/adagrad.h"

#include <algorithm>
#include <utility>

#include "flotilla/optim/schedule.h"

namespace flotilla {

namespace {

class AdagradRule final : public UpdateRule {
 public:
  explicit AdagradRule(const AdagradOptions& options)
      : epsilon_(static_cast<float>(options.epsilon)),
        initial_accumulator_(static_cast<float>(options.initial_accumulator)) {}

  int states() const override { return 1; }

  void InitState(int64_t n, float* state) const override {
    std::fill_n(state, n, initial_accumulator_);
  }

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
            .decayed = false,
            .keep = 0,
            .decay = context.decay};
  }

  const float epsilon_;
  const float initial_accumulator_;
};

}  // namespace

OptimizerSpec Adagrad(double learning_rate, AdagradOptions options) {
  return Adagrad(ConstantRate(learning_rate), options);
}

OptimizerSpec Adagrad(ScheduleSpec learning_rate, AdagradOptions options) {
  OptimizerSpec spec;
  spec.name = "adagrad";
  spec.params = {{"epsilon", options.epsilon},
                 {"initial_accumulator", options.initial_accumulator}};
  spec.learning_rate = std::move(learning_rate);
  return spec;
}

std::unique_ptr<UpdateRule> MakeAdagradRule(const ParamMap& params) {
  AdagradOptions options;
  ReadParam(params, "epsilon", options.epsilon);
  ReadParam(params, "initial_accumulator", options.initial_accumulator);
  return std::make_unique<AdagradRule>(options);
}

}  // namespace flotilla
