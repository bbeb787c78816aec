#include "flotilla/report/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace flotilla {
namespace {

using ::testing::HasSubstr;

Progress Halfway() {
  return {.epoch = 0,
          .epochs = 3,
          .step = 500,
          .batches = 500,
          .rows = 500'000,
          .epoch_rows = 1'000'000,
          .loss = 0.45123,
          .metrics = {{"auc", 0.78124}},
          .window_metrics = {{"auc", 0.79}},
          .learning_rate = 1e-4,
          .seconds = 10};
}

TEST(ProgressMeterTest, RateAndTimeLeftCountTheEpochsToCome) {
  Progress progress = Halfway();
  ProgressMeter meter;
  meter.Complete(&progress);
  EXPECT_DOUBLE_EQ(progress.examples_per_second, 50'000);
  EXPECT_DOUBLE_EQ(progress.seconds_left, 2'500'000 / 50'000.0);
}

TEST(ProgressMeterTest, TheRateIsThatOfTheLastSecondsAcrossEpochs) {
  ProgressMeter meter(5);
  Progress progress = {.epochs = 2, .epoch_rows = 10'000};
  for (int second = 0; second <= 10; ++second) {  // 1000 a second
    progress.rows = 1000 * second;
    progress.seconds = second;
    meter.Complete(&progress);
  }
  progress.epoch = 1;  // a test of any length lies between; the epoch's own seconds begin anew
  for (int second = 1; second <= 2; ++second) {  // 200 a second
    progress.rows = 200 * second;
    progress.seconds = second;
    meter.Complete(&progress);
  }
  EXPECT_DOUBLE_EQ(progress.examples_per_second, (3 * 1000 + 2 * 200) / 5.0);
  EXPECT_DOUBLE_EQ(progress.seconds_left, 9'600 / progress.examples_per_second);
}

TEST(ProgressMeterTest, WithoutTheNumberOfRowsTheShareThatWasReadTells) {
  Progress progress = {.epochs = 2, .rows = 1000, .read_share = 0.25, .seconds = 10};
  ProgressMeter().Complete(&progress);
  EXPECT_DOUBLE_EQ(progress.seconds_left, (3000 + 4000) / 100.0);
}

TEST(ProgressMeterTest, WhatCannotBeKnownIsNotMadeUp) {
  Progress progress = {.epochs = 2, .rows = 1000, .seconds = 10};
  ProgressMeter().Complete(&progress);
  EXPECT_DOUBLE_EQ(progress.examples_per_second, 100);
  EXPECT_TRUE(std::isnan(progress.seconds_left));
  Progress start = {.epochs = 2, .epoch_rows = 10};
  ProgressMeter().Complete(&start);
  EXPECT_TRUE(std::isnan(start.examples_per_second));
  EXPECT_TRUE(std::isnan(start.seconds_left));
}

TEST(TrainingMomentTest, SaysAllThatIsKnown) {
  Progress progress = Halfway();
  ProgressMeter().Complete(&progress);
  EXPECT_EQ(
      PlainLine(TrainingMoment(progress)),
      "epoch 0 of 3, 50 %, 500 k rows, 50.0 k examples/s, loss 0.4512, AUC 0.7812, recent AUC "
      "0.7900, lr 0.0001, step 500, 50 s left");
}

TEST(TrainingMomentTest, LeavesOutWhatIsNotKnown) {
  const Progress progress = {.rows = 120, .loss = 0.5};
  EXPECT_EQ(PlainLine(TrainingMoment(progress)), "epoch 0, 120 rows, loss 0.5000");
  EXPECT_LT(TrainingMoment(progress).share, 0);
}

TEST(TrainingMomentTest, On80ColumnsTheEssentialsStay) {
  Progress progress = Halfway();
  ProgressMeter().Complete(&progress);
  EXPECT_EQ(LiveLine(TrainingMoment(progress), 80, false),
            "epoch 0 of 3  50 %  50.0 k examples/s  loss 0.4512  AUC 0.7812  50 s left");
  EXPECT_THAT(LiveLine(TrainingMoment(progress), 160, false), HasSubstr("######"));
}

TEST(TrainingMomentTest, EveryMetricIsShownByItsNameAndTheFirstStaysLongest) {
  Progress progress = Halfway();
  progress.metrics = {{"rmse", 0.25}, {"auc", 0.75}, {"loss", 9}, {"mean", kUndefined}};
  progress.window_metrics = {{"auc", 0.5}};
  ProgressMeter().Complete(&progress);
  EXPECT_EQ(PlainLine(TrainingMoment(progress)),
            "epoch 0 of 3, 50 %, 500 k rows, 50.0 k examples/s, loss 0.4512, rmse 0.2500, AUC "
            "0.7500, recent AUC 0.5000, lr 0.0001, step 500, 50 s left");
  EXPECT_EQ(LiveLine(TrainingMoment(progress), 80, false),
            "epoch 0 of 3  50 %  50.0 k examples/s  loss 0.4512  rmse 0.2500  50 s left");
  const auto json = nlohmann::json::parse(JsonLine(TrainingMoment(progress), {}));
  EXPECT_EQ(json["rmse"], 0.25);
  EXPECT_FALSE(json.contains("rmse_window"));
  EXPECT_EQ(json["auc_window"], 0.5);
  EXPECT_EQ(json["loss"], 0.45123) << "not the metric of this name";
  EXPECT_TRUE(json["mean"].is_null());
}

TEST(TrainingMomentTest, JsonHasTheFiguresAndNullForTheUnknown) {
  Progress progress = Halfway();
  progress.window_metrics[0].second = kUndefined;
  const auto json = nlohmann::json::parse(JsonLine(TrainingMoment(progress), {}));
  EXPECT_EQ(json["task"], "train");
  EXPECT_EQ(json["percent"], 50);
  EXPECT_EQ(json["loss"], 0.45123);
  EXPECT_EQ(json["learning_rate"], 1e-4);
  EXPECT_EQ(json["auc"], 0.78124);
  EXPECT_TRUE(json["auc_window"].is_null());
  EXPECT_TRUE(json["seconds_left"].is_null());
}

}  // namespace
}  // namespace flotilla
