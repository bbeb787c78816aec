#include "flotilla/metric/metric_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace flotilla {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string MetricsError(std::string_view text) {
  const auto metrics = MetricsFromJson(text);
  return metrics.ok() ? "ok" : std::string(Message(metrics.status()));
}

TEST(MetricIoTest, MetricsComeBackEqual) {
  const std::vector<MetricSpec> metrics = {
      {.name = "auc \"x\"\n", .kind = "auc", .vars = {7, 0}, .params = {{"num_thresholds", 0.1}}},
      {.name = "mean", .kind = "mean", .vars = {2147483647}, .params = {}},
      {.name = "gauc", .kind = "gauc", .vars = {1, 2}, .params = {}, .weight = 0, .group = 3}};
  const auto text = MetricsToJson(metrics);
  ASSERT_TRUE(text.ok()) << text.status();
  const auto again = MetricsFromJson(*text);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, metrics);
  EXPECT_EQ(*MetricsFromJson(*MetricsToJson({})), std::vector<MetricSpec>());
}

TEST(MetricIoTest, AMetricWithoutWeightAndGroupIsWrittenWithoutThem) {
  const std::vector<MetricSpec> metrics = {
      {.name = "auc", .kind = "auc", .vars = {1, 0}, .params = {}}};
  EXPECT_EQ(*MetricsToJson(metrics), R"([{"kind":"auc","name":"auc","params":{},"vars":[1,0]}])");
}

TEST(MetricIoTest, WhatTextCannotSayIsRefused) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<MetricSpec> odd = {
      {.name = "auc", .kind = "auc", .vars = {0, 1}, .params = {{"slide_steps", nan}}}};
  EXPECT_THAT(std::string(Message(MetricsToJson(odd).status())),
              HasSubstr("metric auc: slide_steps is nan"));
  const std::vector<MetricSpec> bytes = {{.name = "\xff", .kind = "auc", .vars = {}, .params = {}}};
  EXPECT_FALSE(MetricsToJson(bytes).ok());
}

TEST(MetricIoTest, ErrorsSayWhere) {
  EXPECT_THAT(MetricsError("[{"), HasSubstr("parse error"));
  EXPECT_EQ(MetricsError("{}"), "expected a list");
  EXPECT_EQ(MetricsError("[1]"), "[0]: expected an object, found 1");
  EXPECT_EQ(MetricsError(R"([{"kind": "auc"}])"), "[0].name: expected a string, it is missing");
  const std::string start = R"([{"name": "a", "kind": "b", )";
  EXPECT_EQ(MetricsError(start + R"("vars": 1}])"), "[0].vars: expected a list, found 1");
  for (const char* var : {"-1", "1.5", "2147483648", "\"x\"", "null"}) {
    EXPECT_THAT(MetricsError(start + R"("vars": [)" + var + R"(], "params": {}}])"),
                StartsWith("[0].vars[0]: "));
  }
  EXPECT_THAT(MetricsError(start + R"("vars": [], "params": {}, "weight": -1}])"),
              StartsWith("[0].weight: "));
  EXPECT_THAT(MetricsError(start + R"("vars": [], "params": {}, "group": "user"}])"),
              StartsWith("[0].group: "));
  EXPECT_EQ(MetricsError(start + R"("vars": []}])"),
            "[0].params: expected an object, it is missing");
  EXPECT_EQ(MetricsError(start + R"("vars": [], "params": {"k": "v"}}])"),
            "[0].params.k: expected a number, found \"v\"");
}

}  // namespace
}  // namespace flotilla
