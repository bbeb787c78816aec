#include "flotilla/optim/rmsprop.h"

#include "flotilla/optim/rule_testing.h"

namespace flotilla {
namespace {

NaiveRule NaiveRmsProp(const RmsPropOptions& o) {
  return [o](double rate, double, double g, NaiveWeight& x) {
    auto& [square, mean, momentum] = x.state;
    square = o.rho * square + (1 - o.rho) * g * g;
    mean = o.rho * mean + (1 - o.rho) * g;
    const double spread = o.centered ? square - mean * mean : square;
    momentum = o.momentum * momentum + g / (std::sqrt(spread) + o.epsilon);
    x.w -= rate * momentum;
  };
}

TEST(RmsPropTest, MatchesTheFormulaInAllFourForms) {
  for (bool centered : {false, true}) {
    for (double momentum : {0.0, 0.7}) {
      const RmsPropOptions options{
          .rho = 0.9, .epsilon = 1e-3, .momentum = momentum, .centered = centered};
      ExpectMatchesFormula(RmsProp(0.01, options), NaiveRmsProp(options));
    }
  }
}

TEST(RmsPropTest, KeepsOnlyTheStateItNeeds) {
  EXPECT_EQ(MustMakeRule(RmsProp(0.1))->states(), 1);
  EXPECT_EQ(MustMakeRule(RmsProp(0.1, {.centered = true}))->states(), 2);
  EXPECT_EQ(MustMakeRule(RmsProp(0.1, {.momentum = 0.5}))->states(), 2);
  EXPECT_EQ(MustMakeRule(RmsProp(0.1, {.momentum = 0.5, .centered = true}))->states(), 3);
}

TEST(RmsPropTest, CenteredStaysFiniteOnEqualGradients) {
  const auto rule = MustMakeRule(RmsProp(1e-6, {.rho = 0.5, .centered = true}));
  float w = 0, g = 0.3f, state[2] = {0, 0};
  for (int64_t step = 1; step <= 200; ++step) {
    rule->Apply({.rate = 1e-6f, .step = step, .decay = {}}, 1, &g, &w, state);
    ASSERT_TRUE(std::isfinite(w)) << "step " << step;
  }
}

}  // namespace
}  // namespace flotilla
