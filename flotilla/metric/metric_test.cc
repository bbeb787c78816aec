#include "flotilla/metric/metric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "flotilla/metric/accuracy.h"
#include "flotilla/metric/auc.h"
#include "flotilla/metric/calibration.h"
#include "flotilla/metric/logloss.h"
#include "flotilla/metric/mean.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

void Add(Metric& metric, const std::vector<float>& predict, int64_t width,
         const std::vector<float>& labels) {
  const FetchedValue inputs[] = {{predict, width}, {labels, 1}};
  metric.Add(static_cast<int64_t>(labels.size()), inputs);
}

std::string ErrorOf(const MetricSpec& spec) {
  const auto metric = MakeMetric(spec);
  return metric.ok() ? "ok" : std::string(Message(metric.status()));
}

TEST(AccuracyTest, CountsRowsWhoseLargestColumnIsTheLabel) {
  AccuracyMeter accuracy;
  Add(accuracy, {0.7f, 0.2f, 0.1f, 0.1f, 0.2f, 0.7f, 0.4f, 0.4f, 0.2f, 0.1f, 0.8f, 0.1f}, 3,
      {0, 1, 0, 1});
  EXPECT_DOUBLE_EQ(accuracy.Value(), 0.75);
}

TEST(AccuracyTest, OneColumnIsClassOneAboveAHalf) {
  AccuracyMeter accuracy;
  Add(accuracy, {0.5f, 0.51f, 0.9f, 0.1f, 0.8f}, 1, {0, 1, 1, 0, 0});
  EXPECT_DOUBLE_EQ(accuracy.Value(), 0.8);
}

TEST(AccuracyTest, NanScoreMakesTheFigureNanAndNoRowsToo) {
  AccuracyMeter accuracy;
  EXPECT_TRUE(std::isnan(accuracy.Value()));
  Add(accuracy, {0.1f, 0.9f}, 2, {1});
  EXPECT_EQ(accuracy.Value(), 1);
  Add(accuracy, {0.9f, NAN}, 2, {0});
  EXPECT_TRUE(std::isnan(accuracy.Value()));
  accuracy.Reset();
  Add(accuracy, {0.1f, 0.9f}, 2, {1});
  EXPECT_EQ(accuracy.Value(), 1);
}

TEST(LogLossTest, IsTheMeanOfMinusLogOfTheLabelsProbability) {
  LogLossMeter loss;
  Add(loss, {0.75f, 0.25f, 0.5f, 0.5f}, 2, {1, 0});
  Add(loss, {0.125f, 0.875f}, 2, {0});
  EXPECT_NEAR(loss.Value(), (std::log(4) + std::log(2) + std::log(8)) / 3, 1e-12);
}

TEST(LogLossTest, OneColumnIsTheProbabilityOfClassOne) {
  LogLossMeter loss;
  Add(loss, {0.25f, 0.25f, 0.25f}, 1, {1, 0, 0.5f});
  const double one = -std::log(0.25), zero = -std::log(0.75);
  EXPECT_NEAR(loss.Value(), (one + zero + (one + zero) / 2) / 3, 1e-12);
}

TEST(LogLossTest, CertainMistakesAreClipped) {
  LogLossMeter one_column, two_columns;
  Add(one_column, {0, 1}, 1, {1, 0});
  Add(two_columns, {1, 0}, 2, {1});
  EXPECT_NEAR(one_column.Value(), -std::log(1e-7), 1e-9);
  EXPECT_NEAR(two_columns.Value(), -std::log(1e-7), 1e-9);
}

TEST(LogLossTest, BrokenRowsMakeTheFigureNan) {
  LogLossMeter empty;
  EXPECT_TRUE(std::isnan(empty.Value()));
  struct Case {
    std::vector<float> predict;
    int64_t width;
    float label;
  };
  for (const Case& c :
       {Case{{NAN}, 1, 1}, Case{{0.5f}, 1, 2}, Case{{0.5f}, 1, NAN}, Case{{0.5f, NAN}, 2, 1},
        Case{{0.5f, 0.5f}, 2, 2}, Case{{0.5f, 0.5f}, 2, -1}, Case{{0.5f, 0.5f}, 2, 0.5f}}) {
    LogLossMeter loss;
    Add(loss, {0.5f}, 1, {1});
    Add(loss, c.predict, c.width, {c.label});
    EXPECT_TRUE(std::isnan(loss.Value())) << "label " << c.label << ", width " << c.width;
  }
}

TEST(MeanTest, SummedLossIsDividedByRows) {
  MeanMeter mean(false);
  const std::vector<float> first = {20}, second = {4};
  mean.Add(10, std::vector<FetchedValue>{{first, 1}});
  mean.Add(2, std::vector<FetchedValue>{{second, 1}});
  EXPECT_DOUBLE_EQ(mean.Value(), 2);
}

TEST(MeanTest, LossPerRowIsAveraged) {
  MeanMeter mean(false);
  const std::vector<float> values = {1, 2, 6};
  mean.Add(3, std::vector<FetchedValue>{{values, 1}});
  EXPECT_DOUBLE_EQ(mean.Value(), 3);
}

TEST(MeanTest, MeansOfBatchesWeighByTheirRows) {
  MeanMeter mean(true);
  const std::vector<float> first = {2}, second = {8};
  mean.Add(10, std::vector<FetchedValue>{{first, 1}});
  mean.Add(2, std::vector<FetchedValue>{{second, 1}});
  EXPECT_DOUBLE_EQ(mean.Value(), 3);
}

TEST(MeanTest, NoRowsOrANanGiveNan) {
  MeanMeter mean(false);
  EXPECT_TRUE(std::isnan(mean.Value()));
  const std::vector<float> values = {NAN};
  mean.Add(1, std::vector<FetchedValue>{{values, 1}});
  EXPECT_TRUE(std::isnan(mean.Value()));
}

TEST(MetricTest, MergedStatesEqualOneStateForEveryKind) {
  for (const MetricSpec& spec :
       {AucSpec(0, 1), AccuracySpec(0, 1), LogLossSpec(0, 1), MeanSpec(0)}) {
    auto whole = *MakeMetric(spec), first = *MakeMetric(spec), second = *MakeMetric(spec);
    const std::vector<float> p1 = {0.25f, 0.5f, 0.75f}, p2 = {0.5f, 0.125f};
    Add(*whole, p1, 1, {0, 1, 1});
    Add(*whole, p2, 1, {0, 1});
    Add(*first, p1, 1, {0, 1, 1});
    Add(*second, p2, 1, {0, 1});
    EXPECT_NE(first->Value(), whole->Value()) << spec.kind;
    ASSERT_TRUE(first->Merge(second->State()).ok());
    EXPECT_DOUBLE_EQ(first->Value(), whole->Value()) << spec.kind;
    EXPECT_EQ(first->State(), whole->State()) << spec.kind;
    first->Reset();
    EXPECT_EQ(first->State(), (*MakeMetric(spec))->State()) << spec.kind;
    EXPECT_TRUE(std::isnan(first->Value())) << spec.kind;
  }
}

TEST(MetricTest, AStateWhoseCountsAreNoneIsAnErrorOfEveryKind) {
  for (const MetricSpec& spec :
       {AucSpec(0, 1), AccuracySpec(0, 1), LogLossSpec(0, 1), MeanSpec(0), CalibrationSpec(0, 1)}) {
    for (const double bad : {-1.0, 0.5, 1e300, double{NAN}, double{INFINITY}}) {
      auto metric = *MakeMetric(spec);
      std::vector<double> state = metric->State();
      state[0] = bad;
      EXPECT_EQ(metric->Merge(state).code(), absl::StatusCode::kInvalidArgument)
          << spec.kind << " " << bad;
    }
  }
}

TEST(MetricTest, ParametersReachTheMetric) {
  const auto metric = MakeMetric(AucSpec(0, 1, 4));
  ASSERT_TRUE(metric.ok());
  Add(**metric, {0.30f, 0.49f}, 1, {0, 1});
  EXPECT_EQ((*metric)->Value(), 0.5);
  MetricSpec bare = AucSpec(0, 1);
  bare.params.clear();
  EXPECT_EQ((*MakeMetric(bare))->State().size(), (*MakeMetric(AucSpec(0, 1)))->State().size());
}

TEST(MetricTest, BadSpecsAreErrorsThatSayWhat) {
  MetricSpec spec = AucSpec(0, 1);
  spec.kind = "aucc";
  EXPECT_EQ(ErrorOf(spec),
            "metric auc: unknown kind 'aucc'; known: auc, accuracy, logloss, "
            "calibration, mean");
  spec = AucSpec(0, 1);
  spec.params["thresholds"] = 5;
  EXPECT_EQ(ErrorOf(spec),
            "metric auc (auc): unknown parameter 'thresholds'; known: num_thresholds, "
            "slide_steps");
  EXPECT_THAT(ErrorOf(AucSpec(0, 1, -1)), HasSubstr("num_thresholds is -1"));
  EXPECT_THAT(ErrorOf(AucSpec(0, 1, 4096, -1)), HasSubstr("slide_steps is -1"));
  EXPECT_THAT(ErrorOf(AccuracySpec(-1, 1)), HasSubstr("value -1 < 0"));
  spec = MeanSpec(3, "loss");
  spec.vars.push_back(4);
  EXPECT_EQ(ErrorOf(spec), "metric loss (mean): reads 1 values of the graph, not 2");
  spec = AucSpec(0, 1);
  spec.params["num_thresholds"] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(ErrorOf(spec), HasSubstr("num_thresholds is nan"));
}

TEST(MetricTest, SaysWhatReportsNeedToKnow) {
  EXPECT_TRUE(AucMeter(0, 20).has_window());
  EXPECT_FALSE(AucMeter(0, 0).has_window());
  EXPECT_FALSE(LogLossMeter().has_window());
  EXPECT_EQ(AucMeter(0, 20).direction(), MetricDirection::kLarger);
  EXPECT_EQ(AccuracyMeter().direction(), MetricDirection::kLarger);
  EXPECT_EQ(LogLossMeter().direction(), MetricDirection::kSmaller);
  EXPECT_EQ(CalibrationMeter().direction(), MetricDirection::kNone);
  EXPECT_EQ(MeanMeter(false).direction(), MetricDirection::kNone);
  EXPECT_TRUE(AucMeter(0, 20).scores_clicks());
  EXPECT_FALSE(LogLossMeter().scores_clicks());
}

}  // namespace
}  // namespace flotilla
