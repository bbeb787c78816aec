#include "flotilla/trainer/log_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

namespace flotilla {
namespace {

using ::testing::EndsWith;
using ::testing::StartsWith;

TEST(LogLinesTest, TheEndOfAnEpochIsToldInTheOldWords) {
  Report report{.rows = 1'000'000, .loss = 0.45123, .seconds = 52.1};
  report.metrics = {{"auc", 0.78121}, {"logloss", 0.45}};
  EXPECT_EQ(EpochFinishedLine(3, report),
            "epoch 3 finished, use time=52.10, 19194 examples/s, loss=0.4512, auc=0.7812, "
            "logloss=0.4500");
  EXPECT_EQ(EpochTestLine(3, report),
            "epoch 3 test, use time=52.10, loss=0.4512, auc=0.7812, logloss=0.4500");
  EXPECT_EQ(EpochFinishedLine(0, {}), "epoch 0 finished, use time=0.00, loss=0.0000");
}

TEST(LogLinesTest, BatchLinesLeaveOutWhatIsNotKnown) {
  Progress progress{.epoch = 1, .batches = 10, .loss = 0.588123535};
  EXPECT_EQ(TrainBatchLine(progress), "TRAIN --> pass: 1 batch: 10 loss: 0.588124");
  progress.auc = 0.497622251;
  progress.auc_window = 0.496669348;
  EXPECT_EQ(TrainBatchLine(progress),
            "TRAIN --> pass: 1 batch: 10 loss: 0.588124 auc: 0.497622, batch_auc: 0.496669");
  EXPECT_EQ(TestBatchLine(100, 0.5395161, 0.6346397),
            "TEST --> batch: 100 loss: 0.539516 auc: 0.634640");
  EXPECT_EQ(TestBatchLine(0, 0.5, kUndefined), "TEST --> batch: 0 loss: 0.500000");
}

TEST(LogLinesTest, FileListsAreCutWhenTheyAreLong) {
  const std::vector<std::string> two = {"a/part-0", "a/part-1"};
  EXPECT_EQ(FileListLine(two), "file list: ['a/part-0', 'a/part-1']");
  EXPECT_EQ(FileListLine({}), "file list: []");
  const std::vector<std::string> many(1000, "f");
  EXPECT_THAT(FileListLine(many), EndsWith("'f', .. 1000 in all]"));
  EXPECT_LT(FileListLine(many).size(), 200);
}

TEST(LogLinesTest, FetchHandlersAreToldNamedValuesAndTheTime) {
  const std::time_t now = 1'571'907'205;
  char expected[64];
  struct tm local = {};
  localtime_r(&now, &local);
  strftime(expected, sizeof(expected), ", at: %a %b %e %H:%M:%S %Y", &local);
  const std::vector<std::pair<std::string, double>> values = {{"auc", 0.626496}, {"loss", 3.5}};
  EXPECT_EQ(FetchHandlerLine(0, values, now),
            std::string("epoch -> 0, auc -> 0.626496, loss -> 3.500000") + expected);
}

TEST(LogLinesTest, FetchedValuesShowTheirShapeAndTheFirstElements) {
  const std::vector<int64_t> one = {1};
  const std::vector<float> value = {0.626496f};
  EXPECT_EQ(FetchedText("Epoch 0 auc", "auc_0", one, value),
            "Epoch 0 auc\tauc_0\n\tdim: 1\n\tdtype: float\n\tdata: [0.626496]");
  const std::vector<int64_t> shape = {50, 2};
  const std::vector<float> many(100, 0.5f);
  EXPECT_THAT(FetchedText("", "x", shape, many), StartsWith("x\n\tdim: 50, 2\n"));
  EXPECT_THAT(FetchedText("", "x", shape, many), EndsWith("0.5, 0.5, .. 80 more]"));
}

}  // namespace
}  // namespace flotilla
