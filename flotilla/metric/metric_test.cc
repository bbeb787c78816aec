#include "flotilla/metric/metric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "flotilla/metric/accuracy.h"
#include "flotilla/metric/auc.h"
#include "flotilla/metric/calibration.h"
#include "flotilla/metric/gauc.h"
#include "flotilla/metric/logloss.h"
#include "flotilla/metric/mae.h"
#include "flotilla/metric/mean.h"
#include "flotilla/metric/metric_set.h"
#include "flotilla/metric/ne.h"
#include "flotilla/metric/rmse.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

// All rows are in one group.
void Add(Metric& metric, const std::vector<float>& predict, int64_t width,
         const std::vector<float>& labels, const std::vector<float>& weights = {}) {
  const FetchedValue inputs[] = {{predict, width, true}, {labels, 1, true}};
  const RaggedIds groups{.ids = std::vector<uint64_t>(labels.size(), 7), .offsets = {}};
  metric.Add({static_cast<int64_t>(labels.size()), inputs, weights, {.ids = &groups}});
}

// One of every kind, for predictions of one column.
std::vector<MetricSpec> EveryKind() {
  return {AucSpec(0, 1),     AucSpec(0, 1, 64),    AccuracySpec(0, 1), LogLossSpec(0, 1),
          MeanSpec(0),       NeSpec(0, 1),         RmseSpec(0, 1),     MaeSpec(0, 1),
          GaucSpec(0, 1, 2), CalibrationSpec(0, 1)};
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
  mean.Add({10, std::vector<FetchedValue>{{first, 1}}});
  mean.Add({2, std::vector<FetchedValue>{{second, 1}}});
  EXPECT_DOUBLE_EQ(mean.Value(), 2);
}

TEST(MeanTest, LossPerRowIsAveraged) {
  MeanMeter mean(false);
  const std::vector<float> values = {1, 2, 6};
  mean.Add({3, std::vector<FetchedValue>{{values, 1}}});
  EXPECT_DOUBLE_EQ(mean.Value(), 3);
}

TEST(MeanTest, MeansOfBatchesWeighByTheirRows) {
  MeanMeter mean(true);
  const std::vector<float> first = {2}, second = {8};
  mean.Add({10, std::vector<FetchedValue>{{first, 1}}});
  mean.Add({2, std::vector<FetchedValue>{{second, 1}}});
  EXPECT_DOUBLE_EQ(mean.Value(), 3);
}

TEST(MeanTest, NoRowsOrANanGiveNan) {
  MeanMeter mean(false);
  EXPECT_TRUE(std::isnan(mean.Value()));
  const std::vector<float> values = {NAN};
  mean.Add({1, std::vector<FetchedValue>{{values, 1}}});
  EXPECT_TRUE(std::isnan(mean.Value()));
}

TEST(MetricTest, MergedStatesEqualOneStateForEveryKind) {
  for (const MetricSpec& spec : EveryKind()) {
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
  for (const MetricSpec& spec : EveryKind()) {
    for (const double bad : {-1.0, double{NAN}, double{INFINITY}}) {
      auto metric = *MakeMetric(spec);
      std::vector<double> state = metric->State();
      state[0] = bad;
      EXPECT_EQ(metric->Merge(state).code(), absl::StatusCode::kInvalidArgument)
          << spec.kind << " " << bad;
    }
    auto metric = *MakeMetric(spec);
    EXPECT_FALSE(metric->Merge({}).ok()) << spec.kind;
    std::vector<double> longer = metric->State();
    longer.push_back(0);
    EXPECT_FALSE(metric->Merge(longer).ok()) << spec.kind;
  }
}

TEST(MetricTest, ARowOfWeightTwoCountsAsTwoRowsOfEveryKind) {
  const std::vector<float> p = {0.25f, 0.5f, 0.75f, 0.5f}, labels = {0, 1, 1, 0};
  const std::vector<float> weights = {2, 1, 3, 0};
  const std::vector<float> p_rows = {0.25f, 0.25f, 0.5f, 0.75f, 0.75f, 0.75f};
  const std::vector<float> label_rows = {0, 0, 1, 1, 1, 1};
  // Another batch, so that the values are not those of perfect scores.
  const std::vector<float> p2 = {0.625f, 0.125f}, labels2 = {0, 1};
  for (const MetricSpec& spec : EveryKind()) {
    auto weighted = *MakeMetric(spec), rows = *MakeMetric(spec), plain = *MakeMetric(spec);
    Add(*weighted, p, 1, labels, weights);
    Add(*weighted, p2, 1, labels2);
    Add(*rows, p_rows, 1, label_rows);
    Add(*rows, p2, 1, labels2);
    Add(*plain, p, 1, labels);
    Add(*plain, p2, 1, labels2);
    EXPECT_NEAR(weighted->Value(), rows->Value(), 1e-12) << spec.kind;
    EXPECT_GT(std::abs(weighted->Value() - plain->Value()), 1e-3) << spec.kind;
    EXPECT_NEAR(weighted->WindowValue(), rows->WindowValue(), 1e-12) << spec.kind;
    auto merged = *MakeMetric(spec);
    ASSERT_TRUE(merged->Merge(weighted->State()).ok()) << spec.kind;
    EXPECT_DOUBLE_EQ(merged->Value(), weighted->Value()) << spec.kind;
    weighted->Reset();
    EXPECT_EQ(weighted->State(), (*MakeMetric(spec))->State()) << spec.kind;
  }
}

TEST(MetricTest, FractionsOfWeightsSurviveMergingAndScaleAway) {
  const std::vector<float> p = {0.25f, 0.5f, 0.75f, 0.5f}, labels = {0, 1, 1, 0};
  for (const MetricSpec& spec : EveryKind()) {
    auto small = *MakeMetric(spec), large = *MakeMetric(spec);
    Add(*small, p, 1, labels, {0.1f, 0.2f, 0.3f, 0.7f});
    Add(*large, p, 1, labels, {10, 20, 30, 70});
    EXPECT_NEAR(small->Value(), large->Value(), 1e-6) << spec.kind;
    auto merged = *MakeMetric(spec);
    ASSERT_TRUE(merged->Merge(small->State()).ok()) << spec.kind;
    EXPECT_EQ(merged->Value(), small->Value()) << spec.kind;
  }
}

TEST(MetricTest, AWeightThatIsNoWeightBreaksItsRowOfEveryKind) {
  for (const MetricSpec& spec : EveryKind()) {
    for (const float bad : {-1.0f, NAN, INFINITY}) {
      auto metric = *MakeMetric(spec), other = *MakeMetric(spec);
      Add(*metric, {0.25f, 0.5f, 0.75f}, 1, {0, 1, 1}, {1, 1, bad});
      EXPECT_TRUE(std::isnan(metric->Value())) << spec.kind << " " << bad;
      ASSERT_TRUE(other->Merge(metric->State()).ok()) << spec.kind << " " << bad;
      EXPECT_TRUE(std::isnan(other->Value())) << spec.kind << " " << bad;
    }
  }
}

// Figures of scikit-learn's definitions (root_mean_squared_error, mean_absolute_error, log_loss),
// without and with sample_weight.
TEST(MetricTest, FiguresEqualTheirDefinitions) {
  const std::vector<float> p = {2.5f, 0, 2, 8, -1.25f}, y = {3, -0.5f, 2, 7, 1};
  const std::vector<float> w = {1, 2, 0.5f, 1, 0.25f};
  RmseMeter rmse, weighted_rmse;
  Add(rmse, p, 1, y);
  Add(weighted_rmse, p, 1, y, w);
  EXPECT_NEAR(rmse.Value(), 1.14564392373896, 1e-12);
  EXPECT_NEAR(weighted_rmse.Value(), 0.7967863082738253, 1e-12);
  MaeMeter mae, weighted_mae;
  Add(mae, p, 1, y);
  Add(weighted_mae, p, 1, y, w);
  EXPECT_NEAR(mae.Value(), 0.85, 1e-12);
  EXPECT_NEAR(weighted_mae.Value(), 0.6447368421052632, 1e-12);
  const std::vector<float> classes = {.2f, .7f, .1f, .6f, .3f, .1f, .1f, .1f, .8f, .3f, .4f, .3f};
  const std::vector<float> labels = {1, 0, 1, 2}, weights = {1, 3, 0.5f, 2};
  LogLossMeter loss, weighted_loss;
  Add(loss, classes, 3, labels);
  Add(weighted_loss, classes, 3, labels, weights);
  EXPECT_NEAR(loss.Value(), 1.093514596920146, 1e-12);
  EXPECT_NEAR(weighted_loss.Value(), 0.8382138125050419, 1e-12);
  AccuracyMeter accuracy, weighted_accuracy;
  Add(accuracy, classes, 3, labels);
  Add(weighted_accuracy, classes, 3, labels, weights);
  EXPECT_DOUBLE_EQ(accuracy.Value(), 0.5);
  EXPECT_DOUBLE_EQ(weighted_accuracy.Value(), 4 / 6.5);
  NeMeter ne, weighted_ne;
  Add(ne, {.1f, .4f, .35f, .8f, .65f}, 1, {0, 0, 1, 1, 0});
  Add(weighted_ne, {.1f, .4f, .35f, .8f, .65f}, 1, {0, 0, 1, 1, 0}, {1, 2, 1, 0.5f, 4});
  EXPECT_NEAR(ne.Value(), 0.8733797731604253, 1e-12);
  EXPECT_NEAR(weighted_ne.Value(), 1.6378955477497732, 1e-12);
}

TEST(NeTest, IsOneForTheShareOfClicksAndUndefinedForOneClass) {
  NeMeter ne, one_class;
  Add(ne, {0.25f, 0.25f, 0.25f, 0.25f}, 1, {0, 1, 0, 0});
  EXPECT_NEAR(ne.Value(), 1, 1e-12);
  Add(one_class, {0.25f, 0.5f}, 1, {1, 1});
  EXPECT_TRUE(std::isnan(one_class.Value()));
}

TEST(MeanTest, WeightsOfRowsMultiplyElementsWithRowsOnly) {
  const std::vector<float> weights = {3, 1}, per_row = {1, 5}, sum = {8}, mean_of_batch = {2};
  const auto value = [&](const std::vector<float>& values, bool has_rows, bool is_batch_mean) {
    MeanMeter mean(is_batch_mean);
    const FetchedValue input{values, 1, has_rows};
    mean.Add({2, {&input, 1}, weights});
    return mean.Value();
  };
  EXPECT_DOUBLE_EQ(value(per_row, true, false), 2);
  EXPECT_DOUBLE_EQ(value(sum, false, false), 2);
  EXPECT_DOUBLE_EQ(value(mean_of_batch, false, true), 2);
}

TEST(MetricSetTest, PassesWeightsAndGroupsToTheMetricsThatReadThem) {
  MetricSpec weighted = RmseSpec(4, 2);
  weighted.name = "weighted";
  weighted.weight = 9;
  const std::vector<MetricSpec> specs = {RmseSpec(4, 2), weighted, GaucSpec(4, 2, 7)};
  EXPECT_EQ(MetricSet::Fetches(specs), (std::vector<int>{4, 2, 9, 7}));
  auto set = MetricSet::Make(specs);
  ASSERT_TRUE(set.ok()) << set.status();
  const std::vector<float> p = {0, 1, 0.5f}, label = {0, 0, 1}, weight = {1, 0, 0};
  // The rows are the last three of a batch of five.
  const RaggedIds groups{.ids = {1, 1, 5, 5, 6}, .offsets = {}};
  const FetchedValue ids{.per_row = true, .ids = &groups, .first_row = 2};
  set->Add(3, std::vector<FetchedValue>{{p, 1, true}, {label, 1, true}, {weight, 1, true}, ids});
  const MetricValues values = set->Values();
  EXPECT_NEAR(values[0].second, std::sqrt(1.25 / 3), 1e-12);
  EXPECT_EQ(values[1].second, 0);
  EXPECT_EQ(MetricValue(set->Details(), "gauc_groups_left_out"), 2);
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
            "calibration, gauc, ne, rmse, mae, mean");
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
  spec = GaucSpec(0, 1, -1);
  EXPECT_EQ(ErrorOf(spec), "metric gauc (gauc): needs the ids that group its rows");
  spec = AucSpec(0, 1);
  spec.group = 3;
  EXPECT_EQ(ErrorOf(spec), "metric auc (auc): does not read groups of rows");
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
  for (const MetricSpec& smaller : {RmseSpec(0, 1), MaeSpec(0, 1), NeSpec(0, 1)}) {
    EXPECT_EQ((*MakeMetric(smaller))->direction(), MetricDirection::kSmaller) << smaller.kind;
  }
  EXPECT_EQ(GaucMeter(8).direction(), MetricDirection::kLarger);
  EXPECT_TRUE(AucMeter(0, 20).scores_clicks());
  EXPECT_FALSE(LogLossMeter().scores_clicks());
}

}  // namespace
}  // namespace flotilla
