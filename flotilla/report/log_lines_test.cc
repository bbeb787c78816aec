#include "flotilla/report/log_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

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
  EXPECT_EQ(EpochFinishedLine(0, {.bad_batches = 2}),
            "epoch 0 finished, use time=0.00, loss=0.0000, bad_batches=2");
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
