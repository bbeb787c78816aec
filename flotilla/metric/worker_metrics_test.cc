#include "flotilla/metric/worker_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "flotilla/metric/auc.h"
#include "flotilla/metric/mean.h"

namespace flotilla {
namespace {

using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

const std::vector<float> kScores = {0.2f, 0.6f, 0.5f, 0.9f};
const std::vector<float> kLabels = {0, 0, 1, 1};

std::vector<FetchedValue> Fetched(const std::vector<float>& scores = kScores) {
  return {{scores, 1}, {kLabels, 1}};
}

TEST(WorkerMetricsTest, AReportTakenWhileWorkersCountEndsAtTheSumOfAll) {
  const std::vector<MetricSpec> specs = {AucSpec(0, 1), MeanSpec(0)};
  auto metrics = WorkerMetrics::Make(specs, MetricSet::Fetches(specs), 3);
  ASSERT_TRUE(metrics.ok()) << metrics.status();
  std::vector<std::thread> workers;
  for (int w = 0; w < 3; ++w) {
    workers.emplace_back([&, w] {
      for (int i = 0; i < 300; ++i) (*metrics)->Add(w, 4, Fetched());
    });
  }
  auto merged = MetricSet::Make(specs);
  for (int i = 0; i < 20; ++i) (*metrics)->MergeTo(&*merged);
  for (std::thread& worker : workers) worker.join();
  (*metrics)->MergeTo(&*merged);
  EXPECT_THAT(merged->Values(),
              ElementsAre(Pair("auc", 0.75), Pair("mean", DoubleNear(0.55, 1e-7))));
}

TEST(WorkerMetricsTest, TheWindowForgetsAndResetForgetsEverything) {
  const std::vector<MetricSpec> specs = {AucSpec(0, 1, 4096, /*slide_steps=*/2)};
  auto metrics = WorkerMetrics::Make(specs, MetricSet::Fetches(specs), 2);
  auto merged = MetricSet::Make(specs);
  const std::vector<float> wrong = {0.9f, 0.8f, 0.1f, 0.2f};
  (*metrics)->Add(0, 4, Fetched(wrong));
  for (int i = 0; i < 2; ++i) (*metrics)->Add(0, 4, Fetched());
  (*metrics)->Add(1, 4, Fetched());
  (*metrics)->MergeTo(&*merged);
  EXPECT_EQ(merged->WindowValues()[0].second, 0.75);
  EXPECT_LT(merged->Values()[0].second, 0.75);
  (*metrics)->Reset();
  (*metrics)->MergeTo(&*merged);
  EXPECT_THAT(merged->Hints(), ElementsAre(HasSubstr("auc is nan: no rows")));
}

TEST(WorkerMetricsTest, AMetricThatIsNotKnownIsAnError) {
  const std::vector<MetricSpec> specs = {{.name = "x", .kind = "what"}};
  EXPECT_FALSE(WorkerMetrics::Make(specs, MetricSet::Fetches(specs), 1).ok());
}

}  // namespace
}  // namespace flotilla
