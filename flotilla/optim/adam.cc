#include "flotilla/optim/adam.h"

#include <cmath>
#include <utility>

#include "flotilla/optim/schedule.h"

namespace flotilla {

namespace {

class AdamRule final : public UpdateRule {
 public:
  explicit AdamRule(const AdamOptions& options) : options_(options) {}

  int states() const override { return 2; }

  void Apply(const UpdateContext& context, int64_t n, const float* g, float* w,
             float* state) const override {
    kernels::AdamUpdate(AdamTermsAt(options_, context), n, g, w, state, state + n);
  }

  void ApplyRows(const UpdateContext& context, int64_t dim, const float* grads,
                 std::span<float* const> rows) const override {
    kernels::AdamUpdateRows(AdamTermsAt(options_, context), std::ssize(rows), dim, grads,
                            rows.data());
  }

 private:
  const AdamOptions options_;
};

}  // namespace

namespace {

// Bias corrections at a step, needed because the moments start at 0: of the first moment, and the
// root of that of the second.
struct Correction {
  float beta1 = 0, beta2 = 0;
  int64_t step = -1;
  double first = 1, root = 1;
};

// A push requests the same step about fifty times, once for each piece of the dense parameters: the
// powers are cached between calls.
const Correction& CorrectionAt(float beta1, float beta2, int64_t step) {
  thread_local Correction last;
  if (last.step != step || last.beta1 != beta1 || last.beta2 != beta2) {
    const auto t = static_cast<double>(step);
    last = {.beta1 = beta1,
            .beta2 = beta2,
            .step = step,
            .first = 1 - std::pow(static_cast<double>(beta1), t),
            .root = std::sqrt(1 - std::pow(static_cast<double>(beta2), t))};
  }
  return last;
}

}  // namespace

kernels::AdamTerms AdamTermsAt(const AdamOptions& options, const UpdateContext& context,
                               double decoupled_decay) {
  // The moments are computed with the betas rounded to float, so the correction uses the powers of
  // the rounded values: with 0.999 itself the first steps would be off by 1e-5.
  const float beta1 = static_cast<float>(options.beta1);
  const float beta2 = static_cast<float>(options.beta2);
  const Correction& correction = CorrectionAt(beta1, beta2, context.step);
  return {.rate = static_cast<float>(context.rate * correction.root / correction.first),
          .beta1 = beta1,
          .beta2 = beta2,
          .epsilon = static_cast<float>(options.epsilon * correction.root),
          .decoupled_decay = static_cast<float>(decoupled_decay),
          .decay = context.decay};
}

OptimizerSpec Adam(double learning_rate, AdamOptions options) {
  return Adam(ConstantRate(learning_rate), options);
}

OptimizerSpec Adam(ScheduleSpec learning_rate, AdamOptions options) {
  OptimizerSpec spec;
  spec.name = "adam";
  spec.params = {{"beta1", options.beta1}, {"beta2", options.beta2}, {"epsilon", options.epsilon}};
  spec.learning_rate = std::move(learning_rate);
  return spec;
}

std::unique_ptr<UpdateRule> MakeAdamRule(const ParamMap& params) {
  AdamOptions options;
  ReadParam(params, "beta1", options.beta1);
  ReadParam(params, "beta2", options.beta2);
  ReadParam(params, "epsilon", options.epsilon);
  return std::make_unique<AdamRule>(options);
}

}  // namespace flotilla
