#include "flotilla/run/row_task.h"

#include <gtest/gtest.h>

#include "flotilla/optim/schedule.h"

namespace flotilla {
namespace {

constexpr double kLast = 0.05;

TrainOptions TenStepsPerEpoch(const char* mode, int trainers) {
  TrainOptions options;
  options.epochs = 10;
  options.batch_size = 100;
  options.threads = 2;
  options.fleet.job.mode.mode = mode;
  options.fleet.role.trainers = trainers;
  return options;
}

ScheduleSpec Cooled(const TrainOptions& options, int64_t rows) {
  return WithCooldown(ConstantRate(1), 0.2, rows, options);
}

TEST(WithCooldownTest, CountsTheStepsOfTheMode) {
  // Every batch is a step, whoever trains it.
  EXPECT_EQ(Cooled(TenStepsPerEpoch("local", 1), 1000),
            LinearCooldown(ConstantRate(1), 80, 100, kLast));
  EXPECT_EQ(Cooled(TenStepsPerEpoch("async", 5), 1000),
            LinearCooldown(ConstantRate(1), 80, 100, kLast));
  // Two workers push together.
  EXPECT_EQ(Cooled(TenStepsPerEpoch("half-async", 5), 1000),
            LinearCooldown(ConstantRate(1), 40, 50, kLast));
  // All trainers are one round.
  EXPECT_EQ(Cooled(TenStepsPerEpoch("sync", 5), 1000),
            LinearCooldown(ConstantRate(1), 8, 10, kLast));
  TrainOptions whole = TenStepsPerEpoch("async", 5);
  whole.fleet.split_files = false;
  EXPECT_EQ(Cooled(whole, 1000), LinearCooldown(ConstantRate(1), 400, 500, kLast));
}

TEST(WithCooldownTest, NeedsRowsAndAPart) {
  const TrainOptions options = TenStepsPerEpoch("local", 1);
  EXPECT_EQ(Cooled(options, 0), ConstantRate(1));
  EXPECT_EQ(WithCooldown(ConstantRate(1), 0, 1000, options), ConstantRate(1));
  EXPECT_EQ(Cooled(options, 7), LinearCooldown(ConstantRate(1), 8, 10, kLast))
      << "a short batch is a step";
}

}  // namespace
}  // namespace flotilla
