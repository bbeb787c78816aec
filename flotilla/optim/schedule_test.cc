#include "flotilla/optim/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace flotilla {
namespace {

using ::testing::HasSubstr;

// The rate of a schedule that must be valid.
double Rate(const ScheduleSpec& spec, int64_t step) {
  const Status status = CheckSchedule(spec);
  EXPECT_TRUE(status.ok()) << status;
  return status.ok() ? LearningRate(spec, step) : 0;
}

std::string ScheduleError(const ScheduleSpec& spec) {
  const Status status = CheckSchedule(spec);
  return status.ok() ? "ok" : std::string(Message(status));
}

TEST(ScheduleTest, ConstantNeverChanges) {
  EXPECT_DOUBLE_EQ(Rate(ConstantRate(0.3), 0), 0.3);
  EXPECT_DOUBLE_EQ(Rate(ConstantRate(0.3), int64_t{1} << 50), 0.3);
}

TEST(ScheduleTest, ExponentialIsSmoothOrAStaircase) {
  const ScheduleSpec smooth = ExponentialDecay(0.2, 100, 0.9);
  const ScheduleSpec stairs = ExponentialDecay(0.2, 100, 0.9, true);
  EXPECT_DOUBLE_EQ(Rate(smooth, 0), 0.2);
  EXPECT_DOUBLE_EQ(Rate(smooth, 50), 0.2 * std::pow(0.9, 0.5));
  EXPECT_DOUBLE_EQ(Rate(stairs, 0), 0.2);
  EXPECT_DOUBLE_EQ(Rate(stairs, 99), 0.2);
  EXPECT_DOUBLE_EQ(Rate(stairs, 100), 0.2 * 0.9);
  EXPECT_DOUBLE_EQ(Rate(stairs, 299), 0.2 * 0.9 * 0.9);
}

TEST(ScheduleTest, NaturalExponential) {
  EXPECT_DOUBLE_EQ(Rate(NaturalExponentialDecay(2, 10, 0.5), 0), 2);
  EXPECT_DOUBLE_EQ(Rate(NaturalExponentialDecay(2, 10, 0.5), 15), 2 * std::exp(-0.75));
  EXPECT_DOUBLE_EQ(Rate(NaturalExponentialDecay(2, 10, 0.5, true), 15), 2 * std::exp(-0.5));
}

TEST(ScheduleTest, InverseTime) {
  EXPECT_DOUBLE_EQ(Rate(InverseTimeDecay(1, 4, 0.5), 0), 1);
  EXPECT_DOUBLE_EQ(Rate(InverseTimeDecay(1, 4, 0.5), 6), 1 / 1.75);
  EXPECT_DOUBLE_EQ(Rate(InverseTimeDecay(1, 4, 0.5, true), 7), 1 / 1.5);
}

TEST(ScheduleTest, PolynomialStopsAtItsEnd) {
  const ScheduleSpec spec = PolynomialDecay(1, 10, 0.1, 2);
  EXPECT_DOUBLE_EQ(Rate(spec, 0), 1);
  EXPECT_DOUBLE_EQ(Rate(spec, 5), 0.9 * 0.25 + 0.1);
  EXPECT_DOUBLE_EQ(Rate(spec, 10), 0.1);
  EXPECT_DOUBLE_EQ(Rate(spec, 1000), 0.1);
}

TEST(ScheduleTest, PolynomialCycleStretchesToTheNextMultiple) {
  const ScheduleSpec spec = PolynomialDecay(1, 10, 0, 1, true);
  EXPECT_DOUBLE_EQ(Rate(spec, 0), 1);
  EXPECT_DOUBLE_EQ(Rate(spec, 10), 0);
  EXPECT_DOUBLE_EQ(Rate(spec, 11), 1 - 11.0 / 20);
  EXPECT_DOUBLE_EQ(Rate(spec, 20), 0);
  EXPECT_DOUBLE_EQ(Rate(spec, 21), 1 - 21.0 / 30);
}

TEST(ScheduleTest, PiecewiseChangesAtItsBoundaries) {
  const ScheduleSpec spec = PiecewiseDecay({10, 20}, {3, 2, 1});
  EXPECT_EQ(Rate(spec, 0), 3);
  EXPECT_EQ(Rate(spec, 9), 3);
  EXPECT_EQ(Rate(spec, 10), 2);
  EXPECT_EQ(Rate(spec, 19), 2);
  EXPECT_EQ(Rate(spec, 20), 1);
  EXPECT_EQ(Rate(spec, 1000000), 1);
  EXPECT_EQ(Rate(PiecewiseDecay({}, {7}), 5), 7);
}

TEST(ScheduleTest, CosineFallsToZeroAndStaysThere) {
  const ScheduleSpec spec = CosineDecay(2, 100);
  EXPECT_DOUBLE_EQ(Rate(spec, 0), 2);
  EXPECT_DOUBLE_EQ(Rate(spec, 25), 1 + std::sqrt(0.5));
  EXPECT_NEAR(Rate(spec, 50), 1, 1e-15);
  EXPECT_NEAR(Rate(spec, 100), 0, 1e-15);
  EXPECT_NEAR(Rate(spec, 150), 0, 1e-15);
}

TEST(ScheduleTest, WarmupRisesThenTheOtherScheduleContinuesAtTheGlobalStep) {
  const ScheduleSpec then = ExponentialDecay(0.2, 10, 0.5);
  const ScheduleSpec spec = LinearWarmup(then, 4, 0.1, 0.5);
  EXPECT_DOUBLE_EQ(Rate(spec, 0), 0.1);
  EXPECT_DOUBLE_EQ(Rate(spec, 1), 0.2);
  EXPECT_DOUBLE_EQ(Rate(spec, 3), 0.4);
  EXPECT_DOUBLE_EQ(Rate(spec, 4), 0.2 * std::pow(0.5, 0.4));
  EXPECT_DOUBLE_EQ(Rate(spec, 30), 0.2 / 8);
}

TEST(ScheduleTest, WarmupStandsAroundEverySchedule) {
  for (const ScheduleSpec& then :
       {ConstantRate(1), NaturalExponentialDecay(1, 5, 1), InverseTimeDecay(1, 5, 1),
        PolynomialDecay(1, 5), PiecewiseDecay({3}, {1, 2}), CosineDecay(1, 9)}) {
    const ScheduleSpec spec = LinearWarmup(then, 2, 0, 8);
    EXPECT_DOUBLE_EQ(Rate(spec, 0), 0) << then.name;
    EXPECT_DOUBLE_EQ(Rate(spec, 1), 4) << then.name;
    EXPECT_DOUBLE_EQ(Rate(spec, 2), Rate(then, 2)) << then.name;
  }
}

TEST(ScheduleTest, WarmupOfNoStepsIsTheOtherSchedule) {
  EXPECT_DOUBLE_EQ(Rate(LinearWarmup(ConstantRate(0.3), 0, 5, 6), 0), 0.3);
}

TEST(ScheduleTest, SecondWarmupReplacesTheFirst) {
  const ScheduleSpec spec = LinearWarmup(LinearWarmup(ConstantRate(1), 9, 2, 3), 5, 0, 1);
  EXPECT_EQ(spec, LinearWarmup(ConstantRate(1), 5, 0, 1));
}

TEST(ScheduleTest, CooldownScalesEveryScheduleAndStaysAtItsEnd) {
  for (const ScheduleSpec& before :
       {ConstantRate(1), ExponentialDecay(1, 10, 0.5), PiecewiseDecay({30}, {1, 2})}) {
    const ScheduleSpec spec = LinearCooldown(before, 20, 40, 0.1);
    EXPECT_DOUBLE_EQ(Rate(spec, 0), Rate(before, 0)) << before.name;
    EXPECT_DOUBLE_EQ(Rate(spec, 20), Rate(before, 20)) << before.name;
    EXPECT_DOUBLE_EQ(Rate(spec, 30), 0.55 * Rate(before, 30)) << before.name;
    EXPECT_DOUBLE_EQ(Rate(spec, 40), 0.1 * Rate(before, 40)) << before.name;
    EXPECT_DOUBLE_EQ(Rate(spec, 99), 0.1 * Rate(before, 99)) << before.name;
  }
  EXPECT_DOUBLE_EQ(Rate(LinearCooldown(ConstantRate(1), 5, 5, 0.1), 4), 1);
  EXPECT_DOUBLE_EQ(Rate(LinearCooldown(ConstantRate(1), 5, 5, 0.1), 5), 0.1);
}

TEST(ScheduleTest, WithinPeriodsAPartOfTheWayIsGone) {
  const ScheduleSpec whole = PolynomialDecay(1, 30, 0);
  const ScheduleSpec spec = SlowWithinPeriods(whole, 10, 0.5);
  for (const int64_t first : {0, 10, 20, 30}) {
    EXPECT_DOUBLE_EQ(Rate(spec, first), Rate(whole, first));
    EXPECT_DOUBLE_EQ(Rate(spec, first + 8), Rate(whole, first + 4));
  }
  EXPECT_DOUBLE_EQ(Rate(SlowWithinPeriods(whole, 10, 1), 17), Rate(whole, 17));
  EXPECT_THAT(ScheduleError(SlowWithinPeriods(whole, 0, 1)), HasSubstr("period_steps is 0"));
}

TEST(ScheduleTest, UnknownNameIsAnErrorThatListsTheKnown) {
  ScheduleSpec spec = ConstantRate(1);
  spec.name = "cosinus";
  EXPECT_EQ(ScheduleError(spec),
            "unknown learning-rate schedule 'cosinus'; known: constant, exponential, "
            "natural_exponential, inverse_time, polynomial, piecewise, cosine");
}

TEST(ScheduleTest, MissingAndUnknownParametersAreNamed) {
  EXPECT_THAT(ScheduleError(ScheduleSpec{}),
              HasSubstr("schedule constant: parameter 'rate' is missing"));
  ScheduleSpec spec = CosineDecay(1, 10);
  spec.params.erase("total_steps");
  EXPECT_THAT(ScheduleError(spec),
              HasSubstr("parameter 'total_steps' is missing; known: rate, total"));
  spec = ConstantRate(1);
  spec.params["staircase"] = 1;
  EXPECT_THAT(ScheduleError(spec), HasSubstr("schedule constant: unknown parameter 'staircase'"));
  spec = ConstantRate(1);
  spec.params["warmup_steps"] = 3;
  EXPECT_THAT(ScheduleError(spec), HasSubstr("parameter 'warmup_start' is missing"));
}

TEST(ScheduleTest, ValuesThatMakeNoSenseAreErrors) {
  EXPECT_THAT(ScheduleError(ConstantRate(-1)),
              HasSubstr("rate is -1, but must be finite and at least 0"));
  EXPECT_THAT(ScheduleError(ConstantRate(std::numeric_limits<double>::quiet_NaN())),
              HasSubstr("rate is nan"));
  EXPECT_THAT(ScheduleError(ExponentialDecay(1, 0, 0.5)),
              HasSubstr("decay_steps is 0, but must be a whole number of at least 1"));
  EXPECT_THAT(ScheduleError(ExponentialDecay(1, -5, 0.5)), HasSubstr("decay_steps is -5"));
  EXPECT_THAT(ScheduleError(InverseTimeDecay(1, 5, -0.5)), HasSubstr("decay_rate is -0.5"));
  EXPECT_THAT(ScheduleError(PolynomialDecay(1, 5, -1)), HasSubstr("end is -1"));
  EXPECT_THAT(ScheduleError(CosineDecay(1, 0)), HasSubstr("total_steps is 0"));
  EXPECT_THAT(ScheduleError(LinearWarmup(ConstantRate(1), -1, 0, 1)),
              HasSubstr("warmup_steps is -1"));
  EXPECT_THAT(ScheduleError(LinearCooldown(ConstantRate(1), 0, 0, 1)),
              HasSubstr("cooldown_end is 0"));
  ScheduleSpec spec = ExponentialDecay(1, 5, 0.5);
  spec.params["decay_steps"] = 2.5;
  EXPECT_THAT(ScheduleError(spec), HasSubstr("decay_steps is 2.5"));
}

TEST(ScheduleTest, BadPiecesAreErrors) {
  EXPECT_THAT(ScheduleError(PiecewiseDecay({10}, {1})),
              HasSubstr("1 boundaries need 2 values, not 1"));
  EXPECT_THAT(ScheduleError(PiecewiseDecay({}, {})),
              HasSubstr("0 boundaries need 1 values, not 0"));
  EXPECT_THAT(ScheduleError(PiecewiseDecay({10, 5}, {1, 2, 3})), HasSubstr("5 follows 10"));
  EXPECT_THAT(ScheduleError(PiecewiseDecay({5, 5}, {1, 2, 3})), HasSubstr("5 follows 5"));
  EXPECT_THAT(ScheduleError(PiecewiseDecay({-5}, {1, 2})), HasSubstr("boundary 0 is -5"));
  EXPECT_THAT(ScheduleError(PiecewiseDecay({5}, {1, -2})), HasSubstr("value -2"));
  ScheduleSpec spec = ConstantRate(1);
  spec.values = {1};
  EXPECT_THAT(ScheduleError(spec), HasSubstr("belong to piecewise only"));
}

}  // namespace
}  // namespace flotilla
