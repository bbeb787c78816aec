#include "flotilla/report/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flotilla {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Times in percent of ten seconds of one worker.
RunSummary SummaryOf(double read, double pull, double compute, double push, double wait) {
  auto nanos = [](double percent) { return static_cast<int64_t>(percent * 1e8); };
  RunSummary summary;
  summary.train_seconds = 10;
  summary.read = summary.trained = 1000;
  summary.times = {nanos(read), nanos(pull), nanos(compute), nanos(push), nanos(wait)};
  return summary;
}

TEST(SummaryTest, EpochsAddUpAndNoRowIsLost) {
  RunSummary summary;
  Report report{.rows = 90, .seconds = 2};
  report.times = {.read = 5, .pull = 4, .compute = 3, .push = 2, .wait = 1};
  DatasetCounts counts{.rows = 90, .skipped = 7, .dropped = 3};
  for (int i = 0; i < 9; ++i) counts.samples.push_back(std::string(1, static_cast<char>('a' + i)));
  summary.AddEpoch(report, counts);
  counts.samples = {"z"};
  summary.AddEpoch(report, counts);
  EXPECT_EQ(summary.epochs, 2);
  EXPECT_EQ(summary.read, 200);
  EXPECT_EQ(summary.trained, 180);
  EXPECT_EQ(summary.skipped, 14);
  EXPECT_EQ(summary.dropped, 6);
  EXPECT_EQ(summary.times.read, 10);
  EXPECT_EQ(summary.train_seconds, 4);
  EXPECT_THAT(summary.samples, ::testing::ElementsAre("a", "b", "c", "d", "e"));
}

TEST(SummaryTest, BadBatchesAreCountedWithTheirRowsAndTheFirstAreShown) {
  RunSummary summary;
  EXPECT_THAT(SummaryText(summary), Not(HasSubstr("bad batch")));
  Report report{.rows = 900};
  report.bad_batches = 2;
  report.bad_batch_rows = 100;
  report.bad_batch_texts = {"loss cost is inf", "another"};
  summary.AddEpoch(report, {.rows = 1000});
  summary.AddEpoch(report, {.rows = 1000});
  EXPECT_EQ(summary.read, 2000);
  EXPECT_EQ(summary.bad_batches, 4);
  EXPECT_THAT(
      SummaryText(summary),
      StartsWith(
          "rows           read 2,000, trained 1,800, skipped 0, in bad batches 200 in 2 epochs\n"
          "bad batches    4 left out: loss or gradients are not finite\n"
          "  the first    loss cost is inf\n"
          "               another\n"));
}

TEST(SummaryTest, TheRateCountsLoadingAndTrainingOnly) {
  const RunSummary summary{
      .trained = 600, .load_seconds = 1, .train_seconds = 2, .test_seconds = 9};
  EXPECT_DOUBLE_EQ(summary.examples_per_second(), 200);
  EXPECT_EQ(RunSummary{}.examples_per_second(), 0);
}

TEST(SummaryTest, SharesAddUpToOne) {
  RunSummary summary = SummaryOf(10, 20, 30, 15, 5);
  StageShares shares = SharesOf(summary);
  EXPECT_DOUBLE_EQ(shares.read, 0.1);
  EXPECT_DOUBLE_EQ(shares.compute, 0.3);
  EXPECT_NEAR(shares.other, 0.2, 1e-12);
  summary.workers = 2;  // twice the time, the same work
  EXPECT_DOUBLE_EQ(SharesOf(summary).read, 0.05);
  summary = SummaryOf(100, 50, 50, 0, 0);  // more than the run took: shares of what was measured
  shares = SharesOf(summary);
  EXPECT_DOUBLE_EQ(shares.read, 0.5);
  EXPECT_DOUBLE_EQ(shares.other, 0);
  EXPECT_EQ(SharesOf({}).other, 0);
}

TEST(AdviceTest, WaitingForRowsIsInputBound) {
  EXPECT_EQ(Advice(SummaryOf(45, 5, 43, 5, 2), {.faster_input = "--readers 4"}),
            "input-bound: workers waited 45 % of their time for rows; try --readers 4");
}

TEST(AdviceTest, RowsInMemoryAreAdvisedOnlyWhereTheyAreReadAgain) {
  RunSummary summary = SummaryOf(60, 5, 28, 5, 2);
  summary.in_memory = false;
  summary.epochs = 1;
  EXPECT_THAT(Advice(summary), AllOf(HasSubstr("readers"), Not(HasSubstr("memory"))));
  summary.epochs = 3;
  EXPECT_THAT(Advice(summary), HasSubstr("try more readers or a cache of parsed rows or rows in "
                                         "memory"));
  summary.in_memory = true;
  EXPECT_THAT(Advice(summary), AllOf(StartsWith("input-bound"), Not(HasSubstr("memory")),
                                     Not(HasSubstr("readers"))));
  summary = SummaryOf(2, 10, 80, 8, 0);
  summary.in_memory = false;
  summary.epochs = 3;
  EXPECT_THAT(Advice(summary), Not(HasSubstr("memory"))) << "reading holds nothing up";
}

TEST(AdviceTest, WaitingForEachOtherAsksForLargerBatchesOrFreeWorkers) {
  EXPECT_THAT(Advice(SummaryOf(5, 5, 30, 5, 55)),
              AllOf(StartsWith("waiting: workers waited 55 %"), HasSubstr("larger batches or")));
  EXPECT_THAT(Advice(SummaryOf(5, 5, 30, 5, 55), {.free_workers = ""}),
              ::testing::EndsWith("for each other; try larger batches"));
}

TEST(AdviceTest, PullAndPushTogetherAreParameterBound) {
  EXPECT_THAT(Advice(SummaryOf(5, 30, 40, 25, 0)), StartsWith("parameter-bound: 55 %"));
}

TEST(AdviceTest, ComputingMostIsComputeBound) {
  EXPECT_EQ(
      Advice(SummaryOf(2, 10, 80, 8, 0)),
      "compute-bound: workers computed 80 % of their time; more workers on more cores make it "
      "faster");
}

TEST(AdviceTest, ALongWaitBesideComputingIsNamedToo) {
  EXPECT_EQ(Advice(SummaryOf(43, 5, 45, 5, 2), {.faster_input = "--readers 4"}),
            "compute-bound: workers computed 45 % of their time and waited 43 % for rows; try "
            "--readers 4");
  EXPECT_THAT(Advice(SummaryOf(5, 5, 55, 5, 30)),
              AllOf(StartsWith("compute-bound: workers computed 55 %"),
                    HasSubstr("waited 30 % for each other; try larger batches")));
}

TEST(AdviceTest, TheLargestShareIsNamed) {
  EXPECT_THAT(Advice(SummaryOf(25, 10, 10, 5, 50)), StartsWith("waiting"));
  EXPECT_THAT(Advice(SummaryOf(50, 10, 10, 5, 25)), StartsWith("input-bound"));
  EXPECT_THAT(Advice(SummaryOf(22, 40, 18, 20, 0)), StartsWith("parameter-bound"));
  EXPECT_THAT(Advice(SummaryOf(10, 25, 9, 20, 16)), StartsWith("parameter-bound: 45 %"));
}

TEST(AdviceTest, TimeOutsideTheStagesIsNotCalledComputing) {
  RunSummary summary = SummaryOf(10, 10, 9, 5, 2);
  EXPECT_THAT(Advice(summary),
              AllOf(StartsWith("idle: workers spent 64 %"), Not(HasSubstr("evenly"))));
  summary.trainers = 4;
  EXPECT_THAT(Advice(summary), HasSubstr("rows spread evenly over the trainers"));
}

TEST(AdviceTest, ManySkippedRowsComeFirst) {
  RunSummary summary = SummaryOf(43, 5, 45, 5, 2);
  summary.skipped = 60;
  EXPECT_THAT(Advice(summary), StartsWith("bad data: 6 % of the rows"));
  summary.skipped = 40;
  EXPECT_THAT(Advice(summary), StartsWith("compute-bound"));
}

TEST(AdviceTest, AShortRunGetsNone) {
  RunSummary summary = SummaryOf(9, 0, 0, 0, 0);
  summary.train_seconds = 0.9;
  EXPECT_EQ(Advice(summary), "");
  EXPECT_EQ(Advice({}), "");
}

TEST(SummaryTest, TheTextHasRowsTimesStagesAndTheAdvice) {
  RunSummary summary = SummaryOf(43, 5, 45, 5, 2);
  summary.epochs = 2;
  summary.read = 1'234'567;
  summary.trained = 1'234'557;
  summary.skipped = 10;
  summary.samples = {"a.txt:3:1: not a number", "a.txt:9:2: too short"};
  summary.load_seconds = 2;
  EXPECT_EQ(SummaryText(summary),
            "rows           read 1,234,567, trained 1,234,557, skipped 10 in 2 epochs\n"
            "  first bad    a.txt:3:1: not a number\n"
            "               a.txt:9:2: too short\n"
            "time           12 s: load 2.0 s, train 10 s\n"
            "speed          103 k examples/s\n"
            "worker time    10 s of 1 worker\n"
            "  read        4.30 s   43 %  #############\n"
            "  pull        0.50 s    5 %  ##\n"
            "  compute     4.50 s   45 %  ##############\n"
            "  push        0.50 s    5 %  ##\n"
            "  wait        0.20 s    2 %  #\n"
            "  other       0.00 s    0 %\n"
            "compute-bound: workers computed 45 % of their time and waited 43 % for rows; try more "
            "readers or a cache of parsed rows\n");
  summary.trainers = 2;
  summary.workers = 8;
  EXPECT_THAT(SummaryText(summary), HasSubstr("of 8 workers in 2 trainers\n"));
  EXPECT_THAT(SummaryText({}), Not(HasSubstr("worker time")));
}

}  // namespace
}  // namespace flotilla
