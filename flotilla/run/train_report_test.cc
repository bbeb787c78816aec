#include "flotilla/run/train_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace flotilla {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(TrainReportTest, TheTableHasEveryMetricOfTheModelAndNoOther) {
  RunResult result;
  result.train = {.rows = 100, .loss = 0.5};
  result.train.metrics = {{"auc", 0.75}, {"mean_squared_error", 0.125}};
  EXPECT_THAT(ResultTable({}, result), StartsWith("                           train\n"
                                                  "examples                     100\n"
                                                  "auc                       0.7500\n"
                                                  "mean_squared_error        0.1250\n"
                                                  "loss                      0.5000\n"));
  result.test = result.train;
  result.test->rows = 10;
  result.test->metrics[0].second = 0.5;
  EXPECT_THAT(ResultTable({}, result), HasSubstr("auc                       0.7500      0.5000\n"));
}

TEST(TrainReportTest, AModelThatIsWorseThanTheMeanIsNamed) {
  RunResult result;
  result.train = {.rows = 100, .loss = 1.9225416e29};
  result.train.metrics = {{"ne", 3e29}};
  const std::string table = ResultTable({}, result);
  EXPECT_THAT(table, HasSubstr("loss             1.923e+29\n"));
  EXPECT_THAT(table, HasSubstr("worse than always predicting the mean (train ne 3e+29, above 1): "
                               "lower --learning_rate"));
  result.train.metrics = {{"ne", 0.99}};
  EXPECT_THAT(ResultTable({}, result), Not(HasSubstr("mean")));
  result.train.metrics = {{"rmse", 2.5}};
  EXPECT_THAT(ResultTable({}, result), Not(HasSubstr("mean")));
  EXPECT_THAT(ResultTable({}, result, 2), HasSubstr("(train rmse 2.5000, above 2.0000)"));
}

TEST(TrainReportTest, AModelWithoutMetricsHasItsLoss) {
  RunResult result;
  result.train = {.rows = 100, .loss = 0.5};
  const std::string table = ResultTable({}, result);
  EXPECT_THAT(table, Not(HasSubstr("nan")));
  EXPECT_THAT(table, Not(HasSubstr("auc")));
  EXPECT_THAT(table, HasSubstr("loss                0.5000\n"));
}

TEST(TrainReportTest, TheObjectHasEveryMetricByItsName) {
  RunResult result;
  result.train = {.rows = 100, .loss = 0.5};
  result.train.metrics = {{"rmse", 0.25}};
  result.test = result.train;
  result.test->metrics = {{"rmse", 0.5}};
  const auto result_json = nlohmann::json::parse(ResultJson({}, result));
  EXPECT_EQ(result_json["rmse"], 0.5);
  EXPECT_EQ(result_json["train_rmse"], 0.25);
  EXPECT_EQ(result_json["loss"], 0.5);
  EXPECT_TRUE(result_json["auc"].is_null());
  EXPECT_FALSE(result_json.contains("best_auc"));
}

TEST(TrainReportTest, TheWatchedMetricIsNamed) {
  RunResult result;
  result.train.metrics = {{"rmse", 0.25}};
  result.test = result.train;
  result.watch = "rmse";
  result.last_epoch = 2;
  EXPECT_TRUE(nlohmann::json::parse(ResultJson({}, result)).at("best_rmse").is_null());
  result.best = 0.125;
  result.best_epoch = 1;
  EXPECT_EQ(nlohmann::json::parse(ResultJson({}, result))["best_rmse"], 0.125);
  EXPECT_THAT(ResultTable({}, result), HasSubstr("last          epoch 2, test rmse 0.2500\n"
                                                 "best          epoch 1, test rmse 0.1250\n"));
  EXPECT_THAT(ResultTable({}, result), Not(HasSubstr("failed saves")));
  result.failed_saves = 2;
  EXPECT_THAT(ResultTable({}, result), HasSubstr("failed saves  2, see the log"));
  EXPECT_EQ(nlohmann::json::parse(ResultJson({}, result))["failed_saves"], 2);
  result.watch = "auc";
  result.test->metrics = {{"auc", 0.75}};
  EXPECT_THAT(ResultTable({}, result), HasSubstr("epoch 2, test AUC 0.7500\n"));
}

}  // namespace
}  // namespace flotilla
