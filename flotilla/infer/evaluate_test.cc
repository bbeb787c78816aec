#include "flotilla/infer/evaluate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/infer/trained_model_testing.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

class EvaluateTest : public ::testing::Test {
 protected:
  EvaluateTest() {
    model_.Save(path_);
    predictor_ = *Predictor::Load(path_, {.with_metrics = true});
  }

  StatusOr<Evaluation> Run(Dataset& dataset, const EvaluateOptions& options = {}) const {
    return Evaluate(*predictor_, dataset, clock_, options);
  }

  const TempDir dir_;
  const std::string path_ = dir_.path() + "/model";
  TrainedModel model_{7, 30};
  std::unique_ptr<Predictor> predictor_;
  const SteadyClock clock_;
};

// Compares with loops over all rows, over pairs of rows for the AUC.
TEST_F(EvaluateTest, FiguresAreThoseOfAllRows) {
  const Batch rows = ClickRows(500, 77);
  const std::vector<float> predict = model_.Forward(rows);
  double pairs = 0, won = 0, loss = 0, right = 0, predicted = 0, clicks = 0;
  for (int64_t i = 0; i < rows.rows; ++i) {
    const float click = rows.fields[3].values[i], p = predict[2 * i + 1];
    loss -= std::log(click > 0 ? p : predict[2 * i]);
    right += (p > predict[2 * i]) == (click > 0);
    predicted += p;
    clicks += click;
    for (int64_t j = 0; j < rows.rows; ++j) {
      if (click == 0 || rows.fields[3].values[j] != 0) continue;
      ++pairs;
      won += p > predict[2 * j + 1] ? 1 : p == predict[2 * j + 1] ? 0.5 : 0;
    }
  }
  for (const int threads : {1, 3}) {
    const auto result = Run(*ClickDataset(rows, 500), {.threads = threads});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->rows, 500);
    EXPECT_EQ(result->skipped, 0);
    EXPECT_NEAR(result->Metric("auc"), won / pairs, 2e-3);
    EXPECT_NEAR(result->Metric("logloss"), loss / 500, 1e-6);
    EXPECT_NEAR(result->Metric("accuracy"), right / 500, 1e-12);
    EXPECT_NEAR(result->calibration, predicted / clicks, 1e-6);
    EXPECT_GT(result->Metric("loss"), result->Metric("logloss")) << "and the price's";
    ASSERT_EQ(result->deciles.size(), 10);
    EXPECT_GT(result->deciles[9].clicks, result->deciles[0].clicks);
    EXPECT_GT(result->seconds, 0);
    EXPECT_TRUE(std::isnan(result->Metric("none")));
  }
}

TEST_F(EvaluateTest, RowsWithoutALabelHaveScoresAndNoMetrics) {
  Batch rows = ClickRows(100, 77);
  const std::vector<float> predict = model_.Forward(rows);
  const int label = 3, user = 0;
  std::fill(rows.fields[label].values.begin(), rows.fields[label].values.end(), 9.0f);
  EXPECT_FALSE(Run(*ClickDataset(rows, 100)).ok()) << "9 is not a class";
  predictor_ = *Predictor::Load(path_, {.with_metrics = true});
  EXPECT_THAT(std::string(Message(predictor_->LeaveOut({&user, 1}))),
              HasSubstr("the prediction depends on an input that the rows do not have"));
  ASSERT_TRUE(predictor_->LeaveOut({&label, 1}).ok());
  std::ostringstream scores;
  const auto result = Run(*ClickDataset(rows, 100), {.predictions_stream = &scores});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->metrics.empty());
  EXPECT_TRUE(result->hints.empty());
  EXPECT_TRUE(result->deciles.empty());
  EXPECT_TRUE(std::isnan(result->calibration));
  EXPECT_EQ(result->rows, 100);
  EXPECT_EQ(std::strtof(scores.str().c_str(), nullptr), predict[1]);
}

// The weight of a row is its label; groups are users.
TEST_F(EvaluateTest, WeightsAndGroupsOfASavedModelCount) {
  const GraphDef& graph = model_.sections.graph.def();
  const int label = graph.FindVar("label"), user = graph.FindVar("user");
  const int predict = model_.sections.predict;
  MetricSpec weighted{.name = "weighted",
                      .kind = "logloss",
                      .vars = {predict, label},
                      .params = {},
                      .weight = label};
  const MetricSpec gauc{
      .name = "gauc", .kind = "gauc", .vars = {predict, label}, .params = {}, .group = user};
  const MetricSpec own{
      .name = "calibration", .kind = "calibration", .vars = {predict, label}, .params = {}};
  model_.sections.metrics = {weighted, gauc, own};
  model_.Save(path_ + "2");
  predictor_ = *Predictor::Load(path_ + "2", {.with_metrics = true});
  const Batch rows = ClickRows(500, 77, 20);
  const std::vector<float> p = model_.Forward(rows);
  double loss = 0, clicks = 0;
  for (int64_t i = 0; i < rows.rows; ++i) {
    const float click = rows.fields[3].values[i];
    loss -= click * std::log(p[2 * i + 1]);
    clicks += click;
  }
  const auto result = Run(*ClickDataset(rows, 70), {.threads = 2});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_NEAR(result->Metric("weighted"), loss / clicks, 1e-6);
  EXPECT_GT(result->Metric("gauc"), 0);
  EXPECT_EQ(MetricValue(result->metric_details, "gauc_groups") +
                MetricValue(result->metric_details, "gauc_groups_left_out"),
            20);
  EXPECT_EQ(result->metrics.size(), 3u) << "no second calibration";
  EXPECT_EQ(result->calibration, result->Metric("calibration"));
  EXPECT_EQ(result->deciles.size(), 10u);
}

TEST_F(EvaluateTest, MetricsStartAtZeroEveryTime) {
  const auto dataset = ClickDataset(ClickRows(300, 1), 50);
  const auto first = Run(*dataset);
  const auto second = Run(*dataset);
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(first->metrics, second->metrics);
  EXPECT_EQ(first->calibration, second->calibration);
}

TEST_F(EvaluateTest, PredictionsStandInTheOrderOfTheRowsForAnyNumberOfThreads) {
  const Batch rows = ClickRows(3001, 3);
  std::vector<std::vector<float>> files;
  for (const int threads : {1, 4}) {
    const std::string path = dir_.path() + "/scores";
    const auto result = Run(*ClickDataset(rows, 7), {.threads = threads, .predictions = path});
    ASSERT_TRUE(result.ok()) << result.status();
    std::ifstream file(path);
    std::vector<float>& scores = files.emplace_back();
    for (std::string line; std::getline(file, line);) {
      scores.push_back(std::strtof(line.c_str(), nullptr));
    }
  }
  ASSERT_EQ(files[0].size(), 3001);
  EXPECT_EQ(files[0], files[1]);
  // Batch 10 alone yields the same scores, bit for bit.
  const auto dataset = ClickDataset(rows, 7);
  ASSERT_TRUE(dataset->StartEpoch(0).ok());
  Batch batch;
  for (int i = 0; i <= 10; ++i) ASSERT_TRUE(*dataset->Next(0, &batch));
  const std::vector<float> expected = model_.Forward(batch);
  for (int i = 0; i < 7; ++i) EXPECT_EQ(files[0][70 + i], expected[2 * i + 1]);
}

TEST_F(EvaluateTest, OtherInputsAreNamed) {
  const std::vector<InputSpec> inputs = {{.name = "user", .kind = InputKind::kIds},
                                         {.name = "word", .kind = InputKind::kIds}};
  Batch rows{.rows = 1};
  rows.fields.resize(2);
  for (Field& field : rows.fields) field.ids.ids = {1};
  const auto other = InMemoryDataset::FromRows(inputs, rows, {});
  EXPECT_THAT(std::string(Message(Run(**other).status())),
              HasSubstr("input 1: the model reads words (ids, width 1), the data has word"));
  const std::vector<InputSpec> one = {inputs[0]};
  rows.fields.resize(1);
  const auto few = InMemoryDataset::FromRows(one, rows, {});
  EXPECT_EQ(Message(Run(**few).status()), "the model reads 4 inputs, the data has 1");
}

TEST_F(EvaluateTest, AnErrorOfOneWorkerEndsTheOthers) {
  Batch rows = ClickRows(2000, 9);
  rows.fields[1].ids.ids.back() = 60;  // the table has 60 rows
  const auto result =
      Run(*ClickDataset(rows, 10), {.threads = 4, .predictions = dir_.path() + "/scores"});
  EXPECT_THAT(std::string(Message(result.status())), HasSubstr("id 60 is not below"));
}

TEST_F(EvaluateTest, AFileThatCannotBeWrittenIsAnError) {
  const auto result =
      Run(*ClickDataset(ClickRows(10, 9), 10), {.predictions = "/no/such/dir/scores"});
  EXPECT_THAT(std::string(Message(result.status())), HasSubstr("/no/such/dir/scores"));
}

TEST_F(EvaluateTest, OneClassOnlyGivesNanAndAHint) {
  Batch rows = ClickRows(50, 4);
  for (float& label : rows.fields[3].values) label = 0;
  const auto result = Run(*ClickDataset(rows, 10));
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(std::isnan(result->Metric("auc")));
  EXPECT_TRUE(std::isnan(result->calibration));
  EXPECT_FALSE(result->hints.empty());
}

}  // namespace
}  // namespace flotilla
