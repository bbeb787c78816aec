#include "flotilla/optim/adam.h"

#include "flotilla/optim/rule_testing.h"

namespace flotilla {
namespace {

NaiveRule NaiveAdam(double beta1, double beta2, double epsilon) {
  return [=](double rate, double t, double g, NaiveWeight& x) {
    x.state[0] = beta1 * x.state[0] + (1 - beta1) * g;
    x.state[1] = beta2 * x.state[1] + (1 - beta2) * g * g;
    const double m = x.state[0] / (1 - std::pow(beta1, t));
    const double v = x.state[1] / (1 - std::pow(beta2, t));
    x.w -= rate * m / (std::sqrt(v) + epsilon);
  };
}

TEST(AdamTest, MatchesTheFormula) { ExpectMatchesFormula(Adam(0.01), NaiveAdam(0.9, 0.999, 1e-8)); }

TEST(AdamTest, EpsilonStandsBesideTheCorrectedRoot) {
  ExpectMatchesFormula(Adam(0.05, {.beta1 = 0.8, .beta2 = 0.95, .epsilon = 0.3}),
                       NaiveAdam(0.8, 0.95, 0.3));
}

TEST(AdamTest, FirstStepMovesByTheRate) {
  const auto rule = MustMakeRule(Adam(0.01));
  float w = 1, g = 1e-3f, state[2] = {0, 0};
  rule->Apply({.rate = 0.01f, .step = 1, .decay = {}}, 1, &g, &w, state);
  EXPECT_NEAR(w, 0.99, 1e-6);
}

TEST(AdamTest, CorrectionIsGoneAfterManySteps) {
  const auto rule = MustMakeRule(Adam(0.01));
  float w = 1, g = 0, state[2] = {0.5f, 0.25f};
  rule->Apply({.rate = 0.01f, .step = int64_t{1} << 40, .decay = {}}, 1, &g, &w, state);
  // The moments are 0.5 * 0.9 and 0.25 * 0.999.
  EXPECT_FLOAT_EQ(w, 1 - 0.01f * 0.45f / std::sqrt(0.24975f));
}

TEST(AdamTest, BetasOfZeroGiveSignDescent) {
  ExpectMatchesFormula(Adam(0.01, {.beta1 = 0, .beta2 = 0, .epsilon = 1e-4}),
                       [](double rate, double, double g, NaiveWeight& x) {
                         x.w -= rate * g / (std::abs(g) + 1e-4);
                       });
}

}  // namespace
}  // namespace flotilla
