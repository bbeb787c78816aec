#include "flotilla/report/metrics_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "flotilla/base/temp_dir_testing.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

std::string Content(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<nlohmann::json> JsonLines(const std::string& path) {
  std::vector<nlohmann::json> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(nlohmann::json::parse(line));
  return lines;
}

std::vector<int64_t> Steps(const std::string& path) {
  const auto points = ReadMetrics(path);
  EXPECT_TRUE(points.ok()) << points.status();
  std::vector<int64_t> steps;
  for (const MetricsPoint& point : *points) steps.push_back(point.step);
  return steps;
}

Progress AtStep(int64_t step) { return {.step = step, .rows = 1000 * step, .loss = 1.0}; }

TEST(MetricsLogTest, WritesOneObjectPerLineWithTheKeysOfTheHeader) {
  const TempDir dir;
  const std::string path = dir.path() + "/run.log/metrics.jsonl";  // the directory is made
  auto log = MetricsLog::Open(path);
  ASSERT_TRUE(log.ok()) << log.status();
  ASSERT_TRUE((*log)
                  ->WriteTrain({.epoch = 1,
                                .step = 20,
                                .rows = 5000,
                                .loss = 0.5,
                                .metrics = {{"auc", 0.75}, {"rmse", 0.3}},
                                .window_metrics = {{"auc", kUndefined}},
                                .learning_rate = 1e-3,
                                .examples_per_second = 1e4})
                  .ok());
  Report report{.rows = 9000, .skipped = 3, .bad_batches = 2, .loss = 0.25, .seconds = 2.5};
  report.metrics = {{"auc", 0.8}, {"accuracy", 0.9}, {"loss", 77}};
  ASSERT_TRUE((*log)->WriteEpoch(1, 25, report).ok());
  ASSERT_TRUE((*log)->WriteTest(1, 25, report).ok());
  ASSERT_TRUE((*log)->WriteEvent("save", 25, "out/epoch_1").ok());
  const auto lines = JsonLines(path);  // while the log is open: nothing waits in a buffer
  ASSERT_EQ(lines.size(), 4);
  EXPECT_EQ(lines[1]["bad_batches"], 2);
  EXPECT_EQ(lines[0]["kind"], "train");
  EXPECT_EQ(lines[0]["epoch"], 1);
  EXPECT_EQ(lines[0]["step"], 20);
  EXPECT_EQ(lines[0]["rows"], 5000);
  EXPECT_EQ(lines[0]["loss"], 0.5);
  EXPECT_EQ(lines[0]["auc"], 0.75);
  EXPECT_TRUE(lines[0].at("auc_window").is_null());
  EXPECT_EQ(lines[0]["rmse"], 0.3);
  EXPECT_FALSE(lines[0].contains("rmse_window"));
  EXPECT_EQ(lines[0]["learning_rate"], 1e-3);
  EXPECT_EQ(lines[0]["examples_per_second"], 1e4);
  EXPECT_TRUE(lines[0]["time"].is_string());
  EXPECT_EQ(lines[1]["kind"], "epoch");
  EXPECT_EQ(lines[2]["kind"], "test");
  EXPECT_EQ(lines[2]["accuracy"], 0.9);
  EXPECT_EQ(lines[2]["loss"], 0.25);
  EXPECT_EQ(lines[3]["event"], "save");
  EXPECT_EQ(lines[3]["detail"], "out/epoch_1");
}

TEST(MetricsLogTest, ReadsBackWhatItWrote) {
  const TempDir dir;
  const std::string path = dir.path() + "/m.jsonl";
  auto log = MetricsLog::Open(path);
  ASSERT_TRUE(log.ok());
  ASSERT_TRUE((*log)
                  ->WriteTrain({.epoch = 2,
                                .step = 7,
                                .loss = 0.5,
                                .metrics = {{"rmse", 0.3}, {"auc", kUndefined}},
                                .window_metrics = {{"auc", 0.6}}})
                  .ok());
  ASSERT_TRUE((*log)->WriteEvent("save", 7).ok());
  ASSERT_TRUE((*log)->WriteTest(2, 8, {.loss = 0.4, .metrics = {{"auc", 0.7}}}).ok());
  const auto points = ReadMetrics(path);
  ASSERT_TRUE(points.ok()) << points.status();
  ASSERT_EQ(points->size(), 2);
  const MetricsPoint& train = (*points)[0];
  EXPECT_EQ(train.kind, MetricsPoint::Kind::kTrain);
  EXPECT_EQ(train.epoch, 2);
  EXPECT_EQ(train.step, 7);
  EXPECT_EQ(train.loss, 0.5);
  ASSERT_EQ(train.metrics.size(), 2);
  EXPECT_EQ(train.metrics[0], (std::pair<std::string, double>("rmse", 0.3)));
  EXPECT_EQ(train.metrics[1].first, "auc");
  EXPECT_TRUE(std::isnan(train.metrics[1].second));
  EXPECT_EQ(train.window_metrics, (MetricValues{{"auc", 0.6}}));
  EXPECT_EQ((*points)[1].kind, MetricsPoint::Kind::kTest);
  EXPECT_EQ((*points)[1].metrics, (MetricValues{{"auc", 0.7}}));
  EXPECT_TRUE((*points)[1].window_metrics.empty());
}

TEST(MetricsLogTest, AModelWithoutMetricsHasOnlyItsLoss) {
  const TempDir dir;
  const std::string path = dir.path() + "/m.jsonl";
  auto log = MetricsLog::Open(path);
  ASSERT_TRUE((*log)->WriteTrain(AtStep(1)).ok());
  EXPECT_FALSE(JsonLines(path)[0].contains("auc"));
  const auto points = ReadMetrics(path);
  ASSERT_TRUE(points.ok()) << points.status();
  EXPECT_TRUE((*points)[0].metrics.empty());
}

TEST(MetricsLogTest, AFreshRunStartsEmptyAndAResumedOneAppends) {
  const TempDir dir;
  const std::string path = dir.path() + "/m.jsonl";
  for (const bool append : {false, true, true}) {
    auto log = MetricsLog::Open(path, {.append = append});
    ASSERT_TRUE((*log)->WriteTrain(AtStep(1)).ok());
  }
  EXPECT_EQ(JsonLines(path).size(), 3);
  ASSERT_TRUE(MetricsLog::Open(path).ok());
  EXPECT_EQ(Content(path), "");
}

TEST(MetricsLogTest, ResumingCutsOffAnUnfinishedLine) {
  const TempDir dir;
  const std::string rest(10'000, 'x');  // longer than what is read at once
  for (const std::string& before :
       {std::string(), std::string("{\"kind\":\"train\",\"step\":1}\n")}) {
    const std::string path = dir.Write("m.jsonl", before + rest);
    ASSERT_TRUE(MetricsLog::Open(path, {.append = true}).ok());
    EXPECT_EQ(Content(path), before);
  }
}

TEST(MetricsLogTest, PointsThatAResumedRunLostAreNotReadBack) {
  const TempDir dir;
  const std::string path = dir.path() + "/m.jsonl";
  auto log = MetricsLog::Open(path);
  for (const int64_t step : {10, 20, 30, 40}) ASSERT_TRUE((*log)->WriteTrain(AtStep(step)).ok());
  ASSERT_TRUE((*log)->WriteEvent(kResumeEvent, 20).ok());
  for (const int64_t step : {25, 35}) ASSERT_TRUE((*log)->WriteTrain(AtStep(step)).ok());
  EXPECT_EQ(Steps(path), (std::vector<int64_t>{10, 20, 25, 35}));
}

TEST(MetricsLogTest, ReadingLeavesOutAnUnfinishedLineAndUnknownKinds) {
  const TempDir dir;
  const std::string path = dir.Write("m.jsonl",
                                     "{\"kind\":\"train\",\"step\":1}\n"
                                     "{\"kind\":\"new\",\"step\":2}\n"
                                     "{\"kind\":\"train\",\"st");
  EXPECT_EQ(Steps(path), std::vector<int64_t>{1});
}

TEST(MetricsLogTest, ErrorsNameTheFileAndTheLine) {
  const TempDir dir;
  const std::string path = dir.Write("m.jsonl", "{\"kind\":\"train\"}\nhello\n");
  EXPECT_THAT(std::string(Message(ReadMetrics(path).status())), HasSubstr("m.jsonl:2:"));
  EXPECT_TRUE(absl::IsNotFound(ReadMetrics(dir.path() + "/none").status()));
  const auto below_a_file = MetricsLog::Open(path + "/sub/m.jsonl");
  EXPECT_THAT(std::string(Message(below_a_file.status())), HasSubstr("m.jsonl/sub/m.jsonl"));
}

TEST(MetricsLogTest, AFullDiskIsAnErrorThatSaysSo) {
  auto log = MetricsLog::Open("/dev/full", {.append = true});
  if (!log.ok()) GTEST_SKIP() << "skipped: no /dev/full";
  const Status status = (*log)->WriteTrain(AtStep(1));
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

TEST(MetricsLogTest, ThreadsWriteWholeLines) {
  const TempDir dir;
  const std::string path = dir.path() + "/m.jsonl";
  auto log = MetricsLog::Open(path);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) EXPECT_TRUE((*log)->WriteTrain(AtStep(i)).ok());
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(JsonLines(path).size(), 400);
}

TEST(MetricsLogTest, AKilledProcessLeavesWholeLines) {
  const TempDir dir;
  const std::string path = dir.path() + "/m.jsonl";
  int started[2];
  ASSERT_EQ(pipe(started), 0);
  const pid_t child = fork();
  if (child == 0) {
    auto log = MetricsLog::Open(path);
    for (int64_t step = 0;; ++step) {
      if (!log.ok() || !(*log)->WriteTrain(AtStep(step)).ok()) _exit(1);
      if (step == 50 && write(started[1], "x", 1) != 1) _exit(1);
    }
  }
  char byte = 0;
  close(started[1]);
  ASSERT_EQ(read(started[0], &byte, 1), 1);
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  close(started[0]);
  const std::string text = Content(path);
  EXPECT_EQ(text.back(), '\n');
  EXPECT_GE(Steps(path).size(), 51);
}

}  // namespace
}  // namespace flotilla
