#include "flotilla/optim/ftrl.h"

#include "flotilla/optim/rule_testing.h"

namespace flotilla {
namespace {

// The paper's algorithm 1, z in the units of gradients: state = {n, z, sum of sigma}. The sum of
// the sigmas is 1 / eta from the first step on, so the first sigma includes beta and the first n.
NaiveRule Paper(const FtrlOptions& o) {
  return [o](double alpha, double t, double g, NaiveWeight& x) {
    auto& [n, z, sigma_sum] = x.state;
    if (t == 1) n = o.initial_accumulator;
    n += g * g;
    const double inverse_eta = (o.beta + std::pow(n, -o.lr_power)) / alpha;
    z += g - (inverse_eta - sigma_sum) * x.w;
    sigma_sum = inverse_eta;
    const double sign = z < 0 ? -1 : 1;
    x.w = std::abs(z) <= o.l1 ? 0 : -(z - sign * o.l1) / (inverse_eta + o.l2);
  };
}

TEST(FtrlTest, MatchesThePaperFromZero) {
  const FtrlOptions options{.l1 = 0.5, .l2 = 0.7};
  ExpectMatchesFormula(Ftrl(0.1, options), Paper(options), {.first_weight_scale = 0});
}

TEST(FtrlTest, MatchesThePaperFromOtherFirstValues) {
  for (double beta : {0.0, 1.0}) {
    for (double power : {-0.5, -0.3}) {
      const FtrlOptions options{
          .l1 = 0.01, .l2 = 0.2, .beta = beta, .lr_power = power, .initial_accumulator = 0.25};
      ExpectMatchesFormula(Ftrl(0.05, options), Paper(options));
    }
  }
}

// z starts at zero and l2 counts twice, as in TensorFlow and Paddle.
TEST(FtrlTest, WithoutBetaAndAccumulatorEqualsTensorFlowsForm) {
  const auto formula = [](double lr, double, double g, NaiveWeight& x) {
    auto& [n, z, unused] = x.state;
    const double next = n + g * g;
    z += g - (std::sqrt(next) - std::sqrt(n)) / lr * x.w;
    n = next;
    if (n == 0) return;
    const double sign = z < 0 ? -1 : 1;
    x.w = std::abs(z) > 0.02 ? (sign * 0.02 - z) / (std::sqrt(n) / lr + 2 * 0.15) : 0;
  };
  ExpectMatchesFormula(Ftrl(0.05, {.l1 = 0.02, .l2 = 0.3, .beta = 0}), formula);
}

TEST(FtrlTest, L1MakesExactZeros) {
  const auto rule = MustMakeRule(Ftrl(0.1, {.l1 = 5}));
  float w = 0, state[2];
  rule->InitState(1, state);
  for (int64_t step = 1; step <= 20; ++step) {
    const float g = step % 2 == 0 ? 1.0f : -1.0f;
    rule->Apply({.rate = 0.1f, .step = step, .decay = {}}, 1, &g, &w, state);
    ASSERT_EQ(w, 0);
  }
}

TEST(FtrlTest, FallingRateDoesNotShrinkWeights) {
  const auto rule = MustMakeRule(Ftrl(0.1));
  float w = 0.5f, state[2];
  rule->InitState(1, state);
  for (int64_t step = 1; step <= 20; ++step) {
    const float g = 0.3f;
    rule->Apply({.rate = 0.1f, .step = step, .decay = {}}, 1, &g, &w, state);
  }
  const float before = w;
  for (int64_t step = 21; step <= 40; ++step) {
    const float g = 0.3f;
    rule->Apply({.rate = 0, .step = step, .decay = {}}, 1, &g, &w, state);
  }
  EXPECT_NEAR(w, before, 1e-5);
  EXPECT_LT(before, 0.4f);
}

TEST(FtrlTest, ZeroGradientKeepsTheFirstValue) {
  for (double beta : {0.0, 1.0}) {
    const auto rule = MustMakeRule(Ftrl(0.1, {.l2 = beta == 0 ? 1.0 : 0.0, .beta = beta}));
    float w = 0.25f, g = 0, state[2];
    rule->InitState(1, state);
    rule->Apply({.rate = 0.1f, .step = 1, .decay = {}}, 1, &g, &w, state);
    EXPECT_FLOAT_EQ(w, 0.25f) << "beta " << beta;
  }
}

}  // namespace
}  // namespace flotilla
