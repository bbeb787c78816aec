#include "flotilla/optim/adamax.h"

#include "flotilla/optim/rule_testing.h"

namespace flotilla {
namespace {

TEST(AdamaxTest, MatchesTheFormula) {
  ExpectMatchesFormula(Adamax(0.02, {.beta1 = 0.9, .beta2 = 0.9, .epsilon = 1e-3}),
                       [](double rate, double t, double g, NaiveWeight& x) {
                         x.state[0] = 0.9 * x.state[0] + 0.1 * g;
                         x.state[1] = std::max(0.9 * x.state[1], std::abs(g) + 1e-3);
                         x.w -= rate / (1 - std::pow(0.9, t)) * x.state[0] / x.state[1];
                       });
}

TEST(AdamaxTest, ZeroGradientOnAFreshRowChangesNothing) {
  const auto rule = MustMakeRule(Adamax(0.1));
  float w = 2, g = 0, state[2] = {0, 0};
  rule->Apply({.rate = 0.1f, .step = 1, .decay = {}}, 1, &g, &w, state);
  EXPECT_EQ(w, 2);
}

}  // namespace
}  // namespace flotilla
