#include "flotilla/base/task_moment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace flotilla {
namespace {

TaskMoment Moment() {
  return {.task = "train",
          .fields = {{.key = "epoch", .value = 0, .text = "epoch 0"},
                     {.key = "epochs", .value = 3},
                     {.key = "rate", .value = 31'200.5, .text = "31.2 k/s", .rank = 1},
                     {.key = "step", .value = 120, .text = "step 120", .rank = 2},
                     {.key = "auc", .value = std::nan(""), .text = "AUC ?", .rank = 2}},
          .share = 0.5};
}

TEST(TaskMomentTest, ALiveLineFillsTheRoomWithABarAfterTheFirstText) {
  EXPECT_EQ(LiveLine(Moment(), 200, false),
            "epoch 0  ############------------  31.2 k/s  step 120  AUC ?");
  // 34 columns of text, a gap of 2, a bar of 8, and one column stays free.
  EXPECT_EQ(LiveLine(Moment(), 45, false), "epoch 0  ####----  31.2 k/s  step 120  AUC ?");
  EXPECT_EQ(LiveLine(Moment(), 44, false), "epoch 0  31.2 k/s  step 120  AUC ?");
}

TEST(TaskMomentTest, OnNarrowTerminalsTheHighestRanksGoFirst) {
  EXPECT_EQ(LiveLine(Moment(), 35, false), "epoch 0  31.2 k/s  step 120  AUC ?");
  EXPECT_EQ(LiveLine(Moment(), 34, false), "epoch 0  31.2 k/s  step 120");
  EXPECT_EQ(LiveLine(Moment(), 27, false), "epoch 0  31.2 k/s");
  EXPECT_EQ(LiveLine(Moment(), 17, false), "epoch 0");
  EXPECT_EQ(LiveLine(Moment(), 5, false), "epoc");
  EXPECT_EQ(LiveLine(Moment(), 1, false), "");
  EXPECT_EQ(LiveLine(Moment(), 0, false), "");
}

TEST(TaskMomentTest, NoLineIsEverAsWideAsTheTerminal) {
  TaskMoment moment = Moment();
  for (int columns = 1; columns < 120; ++columns) {
    for (const double share : {-1.0, 0.0, 0.3, 1.0}) {
      moment.share = share;
      EXPECT_LT(TextColumns(LiveLine(moment, columns, true)), columns);
    }
  }
}

TEST(TaskMomentTest, TheBarFollowsTheShareAndIsLeftOutWhenItIsNotKnown) {
  TaskMoment moment{.task = "t", .fields = {{.key = "a", .text = "a"}}, .share = 0};
  EXPECT_EQ(LiveLine(moment, 12, false), "a  --------");
  moment.share = 0.99;
  EXPECT_EQ(LiveLine(moment, 12, false), "a  #######-");
  moment.share = 1;
  EXPECT_EQ(LiveLine(moment, 12, false), "a  ########");
  EXPECT_EQ(LiveLine(moment, 12, true), "a  ━━━━━━━━");
  moment.share = -1;
  EXPECT_EQ(LiveLine(moment, 12, false), "a");
}

TEST(TaskMomentTest, CutsBetweenCodePoints) {
  const TaskMoment moment{.task = "t", .fields = {{.key = "a", .text = "日本語"}}};
  EXPECT_EQ(LiveLine(moment, 3, true), "日本");
}

TEST(TaskMomentTest, APlainLineHasAllTexts) {
  EXPECT_EQ(PlainLine(Moment()), "epoch 0, 31.2 k/s, step 120, AUC ?");
}

TEST(TaskMomentTest, JsonHasEveryFieldAndNullForWhatIsNotANumber) {
  const std::string line = JsonLine(Moment(), {});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json["time"], "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(json["task"], "train");
  EXPECT_EQ(json["epochs"], 3);
  EXPECT_TRUE(json["step"].is_number_integer());
  EXPECT_EQ(json["rate"], 31'200.5);
  EXPECT_TRUE(json["auc"].is_null());
}

TEST(TaskMomentTest, JsonTimesHaveMilliseconds) {
  EXPECT_EQ(
      JsonTime(std::chrono::system_clock::time_point(std::chrono::milliseconds(1'700'000'000'042))),
      "2023-11-14T22:13:20.042Z");
}

}  // namespace
}  // namespace flotilla
