#include "flotilla/optim/adam.h"

#include "flotilla/optim/rule_testing.h"

namespace flotilla {
namespace {

TEST(AdamWTest, MatchesTheFormula) {
  const AdamWOptions options{.beta1 = 0.85, .beta2 = 0.99, .epsilon = 1e-6, .weight_decay = 0.3};
  ExpectMatchesFormula(AdamW(0.02, options), [](double rate, double t, double g, NaiveWeight& x) {
    x.state[0] = 0.85 * x.state[0] + 0.15 * g;
    x.state[1] = 0.99 * x.state[1] + 0.01 * g * g;
    x.w -= rate * 0.3 * x.w;
    x.w -= rate * (x.state[0] / (1 - std::pow(0.85, t))) /
           (std::sqrt(x.state[1] / (1 - std::pow(0.99, t))) + 1e-6);
  });
}

TEST(AdamWTest, DecayDoesNotEnterTheMoments) {
  const auto rule = MustMakeRule(AdamW(0.5, {.weight_decay = 0.5}));
  float w = 4, g = 0, state[2] = {0, 0};
  rule->Apply({.rate = 0.5f, .step = 1, .decay = {}}, 1, &g, &w, state);
  EXPECT_FLOAT_EQ(w, 3);
  EXPECT_EQ(state[0], 0);
  EXPECT_EQ(state[1], 0);
}

}  // namespace
}  // namespace flotilla
