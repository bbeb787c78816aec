#include "flotilla/optim/update_rule.h"

#include <gmock/gmock.h>

#include <limits>
#include <string>

#include "flotilla/optim/adagrad.h"
#include "flotilla/optim/adam.h"
#include "flotilla/optim/adamax.h"
#include "flotilla/optim/ftrl.h"
#include "flotilla/optim/gradient_clip.h"
#include "flotilla/optim/momentum.h"
#include "flotilla/optim/rmsprop.h"
#include "flotilla/optim/rule_testing.h"
#include "flotilla/optim/sgd.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

std::vector<OptimizerSpec> AllSpecs() {
  return {Sgd(0.1),
          Momentum(0.1),
          Momentum(0.1, {.nesterov = true}),
          Adagrad(0.1, {.initial_accumulator = 0.1}),
          DecayedAdagrad(0.1),
          Adam(0.1),
          Adamax(0.1),
          AdamW(0.1),
          RmsProp(0.1),
          RmsProp(0.1, {.momentum = 0.5, .centered = true}),
          Ftrl(0.1, {.l1 = 0.01})};
}

std::string ErrorOf(const OptimizerSpec& spec) {
  const auto rule = MakeUpdateRule(spec);
  return rule.ok() ? "ok" : std::string(Message(rule.status()));
}

// Some rows as blocks [weights][states], in one array with a gap between them.
struct Block {
  Block(const UpdateRule& rule, int64_t count, int64_t dim)
      : stride((1 + rule.states()) * dim + 3), data(count * stride, -7.0f) {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t d = 0; d < dim; ++d) row(i)[d] = RngKey(3).With(i).Normal(d);
      rule.InitState(dim, row(i) + dim);
    }
  }
  float* row(int64_t i) { return data.data() + i * stride; }

  int64_t stride;
  std::vector<float> data;
};

TEST(UpdateRuleTest, ApplyRowsEqualsApplyRowByRow) {
  for (const OptimizerSpec& spec : AllSpecs()) {
    const auto rule = MustMakeRule(spec);
    for (int64_t dim : {1, 10, 33}) {
      constexpr int64_t kRows = 5;
      Block together(*rule, kRows, dim), alone(*rule, kRows, dim);
      std::vector<float*> rows;
      for (int64_t i : {4, 0, 3, 1, 2}) rows.push_back(together.row(i));
      for (int64_t step = 1; step <= 5; ++step) {
        std::vector<float> grads(kRows * dim);
        for (size_t k = 0; k < grads.size(); ++k) grads[k] = TestGradient(step, k);
        const UpdateContext context = ContextAt(spec, step, {0.01, 0.02});
        rule->ApplyRows(context, dim, grads.data(), rows);
        int64_t k = 0;
        for (int64_t i : {4, 0, 3, 1, 2}) {
          float* row = alone.row(i);
          rule->Apply(context, dim, grads.data() + k++ * dim, row, row + dim);
        }
      }
      for (size_t k = 0; k < alone.data.size(); ++k) {
        ASSERT_NEAR(together.data[k], alone.data[k], 1e-6 * std::abs(alone.data[k]))
            << spec.name << ": dim " << dim << ", float " << k;
      }
    }
  }
}

TEST(UpdateRuleTest, GradientIsNotChanged) {
  for (const OptimizerSpec& spec : AllSpecs()) {
    const auto rule = MustMakeRule(spec);
    std::vector<float> w(10, 1), g(10, 0.5f), state(rule->states() * 10);
    rule->InitState(10, state.data());
    rule->Apply(ContextAt(spec, 1, {0.1, 0.1}), 10, g.data(), w.data(), state.data());
    EXPECT_EQ(g, std::vector<float>(10, 0.5f)) << spec.name;
    EXPECT_LT(w[9], 1.0f) << spec.name;
  }
}

TEST(UpdateRuleTest, TheFormSaysWhetherTwiceTheGradientMovesTwiceAsFar) {
  for (const OptimizerSpec& spec : AllSpecs()) {
    const auto rule = MustMakeRule(spec);
    const auto moved = [&](float g) {
      float w = 0;
      std::vector<float> state(rule->states());
      rule->InitState(1, state.data());
      rule->Apply(ContextAt(spec, 1, {}), 1, &g, &w, state.data());
      return w;
    };
    const bool linear = std::abs(moved(1.0f) - 2 * moved(0.5f)) < 1e-6f;
    EXPECT_EQ(linear, *FormOf(spec) != UpdateForm::kOther) << spec.name;
    if (*FormOf(spec) == UpdateForm::kPlain) {
      EXPECT_EQ(rule->states(), 0) << spec.name;
    }
  }
}

TEST(UpdateRuleTest, NanGradientShowsInTheWeight) {
  for (const OptimizerSpec& spec : AllSpecs()) {
    const auto rule = MustMakeRule(spec);
    float w = 1, g = std::numeric_limits<float>::quiet_NaN();
    std::vector<float> state(rule->states());
    rule->InitState(1, state.data());
    rule->Apply(ContextAt(spec, 1, {}), 1, &g, &w, state.data());
    EXPECT_TRUE(std::isnan(w)) << spec.name;
  }
}

TEST(UpdateRuleTest, ParametersLeftOutHaveTheDefaultsOfTheMakers) {
  for (const OptimizerSpec& made : {Momentum(0.1), Adagrad(0.1), DecayedAdagrad(0.1), Adam(0.1),
                                    Adamax(0.1), AdamW(0.1), RmsProp(0.1), Ftrl(0.1)}) {
    OptimizerSpec bare = made;
    bare.params.clear();
    const auto rule = MustMakeRule(made), bare_rule = MustMakeRule(bare);
    ASSERT_EQ(rule->states(), bare_rule->states()) << made.name;
    std::vector<float> w(3, 1), bare_w(3, 1), state(rule->states() * 3), bare_state(state);
    rule->InitState(3, state.data());
    bare_rule->InitState(3, bare_state.data());
    for (int64_t step = 1; step <= 10; ++step) {
      const float g[3] = {TestGradient(step, 0), TestGradient(step, 1), TestGradient(step, 2)};
      rule->Apply(ContextAt(made, step, {}), 3, g, w.data(), state.data());
      bare_rule->Apply(ContextAt(made, step, {}), 3, g, bare_w.data(), bare_state.data());
    }
    EXPECT_EQ(w, bare_w) << made.name;
  }
}

TEST(UpdateRuleTest, UnknownOptimizerIsNamedAndTheKnownAreListed) {
  OptimizerSpec spec = Sgd(0.1);
  spec.name = "adem";
  const std::string error = ErrorOf(spec);
  EXPECT_THAT(error, HasSubstr("'adem'"));
  EXPECT_THAT(error, HasSubstr("sgd, momentum, adagrad, decayed_adagrad, adam, adamax, adamw, "
                               "rmsprop, ftrl"));
}

TEST(UpdateRuleTest, UnknownParameterIsNamedAndTheKnownAreListed) {
  OptimizerSpec spec = Adam(0.1);
  spec.params["beta3"] = 0.5;
  EXPECT_EQ(ErrorOf(spec),
            "optimizer adam: unknown parameter 'beta3'; known: beta1, beta2, epsilon");
  spec = Sgd(0.1);
  spec.params["momentum"] = 0.5;
  EXPECT_EQ(ErrorOf(spec), "optimizer sgd: unknown parameter 'momentum'; known: none");
}

TEST(UpdateRuleTest, ValuesOutOfRangeAreErrorsThatSayTheRange) {
  const double kNan = std::numeric_limits<double>::quiet_NaN();
  const double kInf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(ErrorOf(Adam(0.1, {.beta1 = 1})),
            "optimizer adam: beta1 is 1, but must be at least 0 and less than 1");
  EXPECT_THAT(ErrorOf(Adam(0.1, {.beta2 = -0.1})), HasSubstr("beta2 is -0.1"));
  EXPECT_THAT(ErrorOf(Adam(0.1, {.epsilon = 0})), HasSubstr("epsilon is 0"));
  EXPECT_THAT(ErrorOf(Adam(0.1, {.beta1 = kNan})), HasSubstr("beta1 is nan"));
  EXPECT_THAT(ErrorOf(Momentum(0.1, {.momentum = 1.5})), HasSubstr("momentum is 1.5"));
  EXPECT_THAT(ErrorOf(AdamW(0.1, {.weight_decay = -1})), HasSubstr("weight_decay is -1"));
  EXPECT_THAT(ErrorOf(Ftrl(0.1, {.lr_power = 0.5})), HasSubstr("lr_power is 0.5"));
  EXPECT_THAT(ErrorOf(Sgd(-0.1)), HasSubstr("optimizer sgd: schedule constant: rate is -0.1"));
  EXPECT_THAT(ErrorOf(Sgd(kInf)), HasSubstr("rate is inf"));
  EXPECT_THAT(ErrorOf(Adam(0.1, {.beta2 = 1 - 1e-12})), HasSubstr("beta2 is"));
  EXPECT_THAT(ErrorOf(Adam(0.1, {.epsilon = 1e-50})), HasSubstr("epsilon is 1e-50"));
  EXPECT_THAT(ErrorOf(Sgd(1e300)), HasSubstr("rate is 1e+300"));
  OptimizerSpec spec = Momentum(0.1);
  spec.params["nesterov"] = 2;
  EXPECT_THAT(ErrorOf(spec), HasSubstr("nesterov is 2, but must be 0 or 1"));
}

TEST(UpdateRuleTest, DecayAndClippingAreCheckedToo) {
  OptimizerSpec spec = Sgd(0.1);
  spec.decay.l2 = -1;
  EXPECT_THAT(ErrorOf(spec), HasSubstr("optimizer sgd: weight decay: l2 is -1"));
  spec = Sgd(0.1);
  spec.clip = ClipByNorm(0);
  EXPECT_THAT(ErrorOf(spec), HasSubstr("gradient clipping: limit is 0"));
}

TEST(UpdateRuleTest, RateOfZeroIsAllowed) { EXPECT_EQ(ErrorOf(Sgd(0)), "ok"); }

TEST(MovingAverageRuleTest, MixesWhatItSeesAndIgnoresRateAndDecay) {
  const auto rule = MakeMovingAverageRule(0.75);
  EXPECT_EQ(rule->states(), 0);
  float w[2] = {1, -4}, g[2] = {3, 8};
  rule->Apply({.rate = 100, .step = 1, .decay = {5, 5}}, 2, g, w, nullptr);
  EXPECT_FLOAT_EQ(w[0], 1.5f);
  EXPECT_FLOAT_EQ(w[1], -1.0f);
}

}  // namespace
}  // namespace flotilla
