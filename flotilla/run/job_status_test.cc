#include "flotilla/run/job_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "flotilla/base/manual_clock_testing.h"
#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/launch/local_cluster.h"

namespace flotilla {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TrainerStatus Half() {
  return {.epoch = 1,
          .epochs = 3,
          .count = 500,
          .epoch_count = 1000,
          .per_second = 100,
          .loss = 0.5,
          .metrics = {{"auc", 0.7}},
          .seconds_left = 15};
}

TEST(JobStatusTest, AStatusComesBackAndWhatIsUnknownStaysSo) {
  TrainerStatus status;
  ASSERT_TRUE(TrainerStatus::FromText(Half().ToText(), &status));
  EXPECT_EQ(status.ToText(), Half().ToText());
  ASSERT_TRUE(TrainerStatus::FromText(TrainerStatus{.unit = "words"}.ToText(), &status));
  EXPECT_EQ(status.unit, "words");
  EXPECT_TRUE(std::isnan(status.loss));
  EXPECT_THAT(status.metrics, IsEmpty());
  EXPECT_TRUE(std::isnan(status.seconds_left));
  EXPECT_FALSE(TrainerStatus::FromText(Half().ToText().substr(0, 20), &status));
  EXPECT_FALSE(TrainerStatus::FromText("", &status));
  EXPECT_FALSE(TrainerStatus::FromText(R"({"unit": 7})", &status));
  ASSERT_TRUE(TrainerStatus::FromText(R"({"unit": "rows", "epoch": "x"})", &status));
  EXPECT_EQ(status.epoch, 0);
}

TEST(JobStatusTest, OneTrainerIsShownAsOne) {
  const std::vector<TrainerStatus> one = {Half()};
  const TaskMoment moment = JobMoment(one, 1);
  EXPECT_EQ(PlainLine(moment),
            "epoch 1 of 3, 50 %, 1 trainer, 500 rows, 100 examples/s, loss 0.5000, AUC 0.7000, "
            "15 s left");
  EXPECT_DOUBLE_EQ(moment.share, 0.5);
}

TEST(JobStatusTest, CountsAndRatesOfTrainersAddUpAndTheSlowestSaysTheRest) {
  std::vector<TrainerStatus> statuses = {Half(), Half()};
  statuses[1].count = 1500;
  statuses[1].epoch_count = 3000;
  statuses[1].per_second = 50;
  statuses[1].loss = 0.7;
  statuses[1].seconds_left = 150;
  EXPECT_EQ(PlainLine(JobMoment(statuses, 2)),
            "epoch 1 of 3, 50 %, 2 trainers, 2.00 k rows, 150 examples/s, loss 0.6500, mean AUC "
            "0.7000, 2:30 left");
  // One trainer has not reported yet: the time left is unknown.
  EXPECT_EQ(PlainLine(JobMoment(statuses, 3)),
            "epoch 1 of 3, 2 of 3 trainers, 2.00 k rows, 150 examples/s, loss 0.6500, mean AUC "
            "0.7000");
  // A trainer that is an epoch ahead has completed this one.
  statuses[0].epoch = 2;
  statuses[0].count = 10;
  EXPECT_THAT(PlainLine(JobMoment(statuses, 2)), HasSubstr("epoch 1 of 3, 63 %, "));
}

TEST(JobStatusTest, EveryMetricIsShownByItsName) {
  std::vector<TrainerStatus> statuses = {Half(), Half()};
  statuses[0].metrics = {{"rmse", 0.25}, {"auc", 0.5}};
  statuses[1].metrics = {{"rmse", 0.75}, {"auc", TrainerStatus::kUnknown}};
  TrainerStatus read;
  ASSERT_TRUE(TrainerStatus::FromText(statuses[0].ToText(), &read));
  EXPECT_EQ(read.metrics, statuses[0].metrics);
  EXPECT_THAT(PlainLine(JobMoment(statuses, 2)),
              HasSubstr(", loss 0.5000, mean rmse 0.5000, mean AUC 0.5000, 15 s left"));
}

TEST(JobStatusTest, TrainersWithoutRowsAreToldAndChangeNothingElse) {
  const std::vector<TrainerStatus> statuses = {Half(), {.epoch = 1, .epochs = 3, .epoch_count = 0}};
  EXPECT_EQ(
      PlainLine(JobMoment(statuses, 2)),
      "epoch 1 of 3, 50 %, 2 trainers (1 without rows), 500 rows, 100 examples/s, loss 0.5000, "
      "mean AUC 0.7000, 15 s left");
}

TEST(JobStatusTest, FiguresThatTrainersDoNotHaveAreLeftOut) {
  const std::vector<TrainerStatus> words = {
      {.unit = "words", .epochs = 1, .count = 10, .per_second = 5, .loss = 2}};
  EXPECT_EQ(PlainLine(JobMoment(words, 1)), "epoch 0, 1 trainer, 10 words, 5 words/s, loss 2.0000");
}

TEST(JobViewTest, ShowsNothingForProgramsThatTellNothing) {
  const TempDir dir;
  const ManualClock clock;
  JobView view({dir.path() + "/a", dir.path() + "/b"}, &clock);
  EXPECT_FALSE(view.Look());
  EXPECT_THAT(view.NewLines(), IsEmpty());
}

TEST(JobViewTest, ATrainerThatTellsNothingNewHasNoSpeed) {
  const TempDir dir;
  ManualClock clock;
  const std::string path = dir.path() + "/a";
  JobView view({path}, &clock);
  WriteStatus(path, Half());
  ASSERT_TRUE(view.Look());
  EXPECT_THAT(PlainLine(view.moment()), HasSubstr("examples/s"));
  clock.AdvanceMs(4000);
  ASSERT_TRUE(view.Look());
  EXPECT_THAT(PlainLine(view.moment()), AllOf(HasSubstr("500 rows"), Not(HasSubstr("examples/s"))));
}

TEST(JobViewTest, EveryLineIsToldOnce) {
  const TempDir dir;
  const ManualClock clock;
  const std::string path = dir.path() + "/a";
  JobView view({path}, &clock);
  AddStatusLine(path, "epoch 0 finished");
  AddStatusLine(path, "epoch 0 test");
  EXPECT_THAT(view.NewLines(), ElementsAre("epoch 0 finished", "epoch 0 test"));
  EXPECT_THAT(view.NewLines(), IsEmpty());
  AddStatusLine(path, "epoch 1 finished");
  EXPECT_THAT(view.NewLines(), ElementsAre("epoch 1 finished"));
  AddStatusLine("", "nowhere");
}

}  // namespace
}  // namespace flotilla
