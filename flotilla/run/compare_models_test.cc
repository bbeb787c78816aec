#include "flotilla/run/compare_models.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;

TEST(CompareModelsTest, ClicksAreComparedByTheirAuc) {
  const LabelledRows rows{.labels = {1, 1, 0, 0}};
  const std::vector<float> right = {.8f, .9f, .1f, .2f}, half = {.3f, .4f, .5f, .3f};
  const auto comparison = CompareModels(rows, right, half);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  EXPECT_EQ(comparison->metric, "auc");
  EXPECT_DOUBLE_EQ(comparison->values.a, 1);
  EXPECT_DOUBLE_EQ(comparison->values.b, 0.375);
  EXPECT_DOUBLE_EQ(comparison->gain, 0.625);
  EXPECT_DOUBLE_EQ(CompareModels(rows, half, right)->gain, -0.625);
}

TEST(CompareModelsTest, NumbersAreComparedByTheRootOfTheirSquaredError) {
  const LabelledRows rows{.task = LabelTask::kRegression, .labels = {1, 2, 3}};
  // Squared errors 1, 1, 1 and 4, 9, 16.
  const auto comparison =
      CompareModels(rows, std::vector<float>{2, 1, 4}, std::vector<float>{3, 5, 7});
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  EXPECT_EQ(comparison->metric, "rmse");
  EXPECT_DOUBLE_EQ(comparison->values.a, 1);
  EXPECT_DOUBLE_EQ(comparison->values.b, std::sqrt(29.0 / 3));
  EXPECT_DOUBLE_EQ(comparison->gain, std::sqrt(29.0 / 3) - 1);
  // Differences 3, 8, 15 of squared errors: z is that of their mean.
  const double error =
      std::sqrt(((26.0 / 3 - 3) * (26.0 / 3 - 3) + (26.0 / 3 - 8) * (26.0 / 3 - 8) +
                 (26.0 / 3 - 15) * (26.0 / 3 - 15)) /
                2 / 3);
  EXPECT_NEAR(comparison->gain / comparison->values.standard_error, 26.0 / 3 / error, 1e-9);
}

TEST(CompareModelsTest, ClassesAreComparedByTheProbabilityOfTheLabel) {
  const LabelledRows rows{.task = LabelTask::kClasses, .columns = 3, .labels = {0, 2}};
  const std::vector<float> a = {.5f, .25f, .25f, .5f, .25f, .25f};
  const std::vector<float> b = {.25f, .5f, .25f, .25f, .5f, .25f};
  const auto comparison = CompareModels(rows, a, b);
  ASSERT_TRUE(comparison.ok()) << comparison.status();
  EXPECT_EQ(comparison->metric, "logloss");
  EXPECT_NEAR(comparison->values.a, (std::log(2) + std::log(4)) / 2, 1e-9);
  EXPECT_NEAR(comparison->gain, std::log(2) / 2, 1e-9);
}

TEST(CompareModelsTest, APredictionThatIsNotANumberIsAnError) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const LabelledRows clicks{.labels = {1, 1, 0, 0}};
  const std::vector<float> broken = {.5f, nan, .5f, .5f}, fine = {.5f, .5f, .5f, .5f};
  EXPECT_THAT(std::string(Message(CompareModels(clicks, broken, fine).status())),
              HasSubstr("row 1"));
  const LabelledRows numbers{.task = LabelTask::kRegression, .labels = {1, 1, 0, 0}};
  EXPECT_THAT(std::string(Message(CompareModels(numbers, broken, fine).status())),
              HasSubstr("row 1"));
}

TEST(MeanPredictionTest, IsTheMeanOfLogitsOrNumbers) {
  const LabelledRows click{.labels = {1, 0}};
  // Log odds of .9 and .5: log(9) and 0. The mean has odds 3.
  EXPECT_THAT(MeanPrediction(click, std::vector<float>{.9f, .2f}, std::vector<float>{.5f, .2f}),
              ElementsAre(FloatNear(.75f, 1e-6f), FloatNear(.2f, 1e-6f)));
  // Certain predictions stay finite.
  EXPECT_THAT(MeanPrediction(click, std::vector<float>{1, 0}, std::vector<float>{0, 0}),
              ElementsAre(FloatNear(.5f, 1e-6f), FloatNear(0, 1e-6f)));
  const LabelledRows number{.task = LabelTask::kRegression, .labels = {1}};
  EXPECT_THAT(MeanPrediction(number, std::vector<float>{-3}, std::vector<float>{5}),
              ElementsAre(1));
  const LabelledRows classes{.task = LabelTask::kClasses, .columns = 2, .labels = {1}};
  EXPECT_THAT(MeanPrediction(classes, std::vector<float>{.1f, .9f}, std::vector<float>{.5f, .5f}),
              ElementsAre(FloatNear(.25f, 1e-6f), FloatNear(.75f, 1e-6f)));
}

TEST(LabelledRowsTest, LabelsAreThoseOfTheView) {
  Batch rows{.fields = std::vector<Field>(2)};
  rows.rows = 4;
  rows.fields[0].values = {1, 2, 3, 4};
  rows.fields[1].values = {0, 1, 2, 1};
  auto dataset = InMemoryDataset::FromRows(
      {{"x", InputKind::kDense, 1}, {"y", InputKind::kLabel, 1}}, rows, {.batch_size = 2});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const auto view = *(*dataset)->View({.batch_size = 2}, {3, 2});
  const LabelledRows labelled =
      LabelledRows::Of(*view, {.input = "y", .task = LabelTask::kClasses, .classes = 3});
  EXPECT_EQ(labelled.columns, 3);
  EXPECT_THAT(labelled.labels, ElementsAre(1, 2));
}

}  // namespace
}  // namespace flotilla
