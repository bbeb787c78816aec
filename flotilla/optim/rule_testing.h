// Shared by the tests of the update rules: a rule is compared with a plain formula in double,
// weight by weight, over many steps, sizes and weight decays.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "flotilla/base/rng.h"
#include "flotilla/optim/schedule.h"
#include "flotilla/optim/update_rule.h"

namespace flotilla {

// One weight and the state that a formula keeps for it.
struct NaiveWeight {
  double w = 0;
  std::array<double, 3> state{};
};

// One update of one weight; g already includes the decay.
using NaiveRule = std::function<void(double rate, double step, double g, NaiveWeight& weight)>;

inline std::unique_ptr<UpdateRule> MustMakeRule(const OptimizerSpec& spec) {
  auto rule = MakeUpdateRule(spec);
  EXPECT_TRUE(rule.ok()) << rule.status();
  return rule.ok() ? *std::move(rule) : nullptr;
}

inline UpdateContext ContextAt(const OptimizerSpec& spec, int64_t step, const Decay& decay) {
  return {.rate = static_cast<float>(LearningRate(spec.learning_rate, step - 1)),
          .step = step,
          .decay = {static_cast<float>(decay.l1), static_cast<float>(decay.l2)}};
}

// A gradient with noise and a separate drift for each weight; sometimes zero, as after ReLU.
inline float TestGradient(int64_t step, int64_t i) {
  const RngKey key = RngKey(17).With(i);
  const float drift = key.Normal(1000000);
  return key.Below(2000000 + step, 7) == 0 ? 0.0f : drift + key.Normal(step);
}

struct NaiveComparison {
  double first_weight_scale = 1;
  double tolerance = 2e-5;
  int64_t steps = 50;
};

inline void ExpectMatchesFormulaWith(const OptimizerSpec& spec, const NaiveRule& formula, int64_t n,
                                     const Decay& decay, const NaiveComparison& options) {
  const auto rule = MustMakeRule(spec);
  std::vector<float> w(n), g(n), state(rule->states() * n, 99.0f);
  std::vector<NaiveWeight> naive(n);
  rule->InitState(n, state.data());
  for (int64_t i = 0; i < n; ++i) {
    w[i] = static_cast<float>(options.first_weight_scale) * RngKey(5).Normal(i);
    naive[i].w = w[i];
  }
  for (int64_t step = 1; step <= options.steps; ++step) {
    for (int64_t i = 0; i < n; ++i) g[i] = TestGradient(step, i);
    rule->Apply(ContextAt(spec, step, decay), n, g.data(), w.data(), state.data());
    for (int64_t i = 0; i < n; ++i) {
      NaiveWeight& x = naive[i];
      const double sign = x.w > 0 ? 1 : x.w < 0 ? -1 : 0;
      formula(LearningRate(spec.learning_rate, step - 1), static_cast<double>(step),
              g[i] + decay.l2 * x.w + decay.l1 * sign, x);
      ASSERT_NEAR(w[i], x.w, options.tolerance * std::max(1.0, std::abs(x.w)))
          << spec.name << ": n " << n << ", weight " << i << ", step " << step << ", l1 "
          << decay.l1 << ", l2 " << decay.l2;
    }
  }
}

// The rule of `spec` equals the formula, over sizes with and without a tail, with each decay.
inline void ExpectMatchesFormula(const OptimizerSpec& spec, const NaiveRule& formula,
                                 const NaiveComparison& options = {}) {
  for (int64_t n : {1, 10, 33}) {
    for (const Decay& decay : {Decay{0, 0}, Decay{0.01, 0}, Decay{0, 0.1}, Decay{0.02, 0.03}}) {
      ExpectMatchesFormulaWith(spec, formula, n, decay, options);
    }
  }
}

}  // namespace flotilla
