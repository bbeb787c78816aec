#include "flotilla/trainer/model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/metric/accuracy.h"
#include "flotilla/metric/auc.h"
#include "flotilla/metric/calibration.h"
#include "flotilla/metric/logloss.h"
#include "flotilla/metric/mean.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

Model WithMetrics(std::vector<MetricSpec> metrics, std::string watch = "") {
  Model model;
  model.metrics = std::move(metrics);
  model.watch = std::move(watch);
  return model;
}

std::string WatchError(const Model& model) {
  return std::string(Message(WatchedMetricOf(model).status()));
}

TEST(WatchedMetricTest, IsTheFirstThatTellsTheBetterModel) {
  const auto smaller = WatchedMetricOf(
      WithMetrics({MeanSpec(0), CalibrationSpec(0, 1), LogLossSpec(0, 1), AucSpec(0, 1)}));
  ASSERT_TRUE(smaller.ok()) << smaller.status();
  EXPECT_EQ(smaller->name, "logloss");
  EXPECT_FALSE(smaller->larger_is_better);
  const auto larger = WatchedMetricOf(WithMetrics({AccuracySpec(0, 1), LogLossSpec(0, 1)}));
  EXPECT_EQ(larger->name, "accuracy");
  EXPECT_TRUE(larger->larger_is_better);
}

TEST(WatchedMetricTest, IsTheOneThatTheModelNames) {
  const auto watched = WatchedMetricOf(WithMetrics({LogLossSpec(0, 1), AucSpec(0, 1)}, "auc"));
  ASSERT_TRUE(watched.ok()) << watched.status();
  EXPECT_EQ(watched->name, "auc");
  EXPECT_TRUE(watched->larger_is_better);
}

TEST(WatchedMetricTest, IsEmptyIfThereIsNone) {
  EXPECT_EQ(WatchedMetricOf(WithMetrics({}))->name, "");
  EXPECT_EQ(WatchedMetricOf(WithMetrics({MeanSpec(0)}))->name, "");
}

TEST(WatchedMetricTest, AMetricThatCannotBeWatchedIsAnError) {
  EXPECT_THAT(WatchError(WithMetrics({AucSpec(0, 1), LogLossSpec(0, 1)}, "rmse")),
              HasSubstr("no metric 'rmse'; its metrics: auc, logloss"));
  EXPECT_THAT(WatchError(WithMetrics({MeanSpec(0)}, "mean")),
              HasSubstr("mean (mean) cannot tell the better of two models"));
}

}  // namespace
}  // namespace flotilla
