#include "flotilla/run/run_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace flotilla {
namespace {

using ::testing::ElementsAre;

TEST(RunStateTest, APositionKeepsTheReportOfItsEpochSoFar) {
  RunState state;
  state.epoch = 3;
  state.earlier_steps = 70;
  state.position = DatasetPosition{.epoch = 3, .ordinal = 12};
  state.so_far.rows = 1200;
  state.so_far.trained = 1100;
  state.so_far.batches = 12;
  state.so_far.loss = kUndefined;
  state.so_far.seconds = 1.5;
  state.so_far.times.compute = 77;
  state.so_far.metric_state = {2, 0.25, 1};
  const auto read = RunState::FromText(state.ToText());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->epoch, 3);
  EXPECT_EQ(read->earlier_steps, 70);
  EXPECT_EQ(read->position, state.position);
  EXPECT_EQ(read->so_far.rows, 1200);
  EXPECT_EQ(read->so_far.trained, 1100);
  EXPECT_EQ(read->so_far.batches, 12);
  EXPECT_TRUE(std::isnan(read->so_far.loss));
  EXPECT_EQ(read->so_far.seconds, 1.5);
  EXPECT_EQ(read->so_far.times.compute, 77);
  EXPECT_THAT(read->so_far.metric_state, ElementsAre(2, 0.25, 1));
}

TEST(RunStateTest, AStateOfAnEarlierVersionCountsFromItsPosition) {
  RunState state;
  state.position = DatasetPosition{.epoch = 0, .ordinal = 12};
  std::string text = state.ToText();
  const size_t begin = text.find(",\"so_far\"");
  ASSERT_NE(begin, std::string::npos);
  text.erase(begin, text.find('}', begin) + 1 - begin);
  const auto read = RunState::FromText(text);
  ASSERT_TRUE(read.ok()) << read.status() << "\n" << text;
  EXPECT_EQ(read->position, state.position);
  EXPECT_EQ(read->so_far.rows, 0);
}

TEST(RunStateTest, EveryTrainerOfAJobTakesItsOwnPlace) {
  RunState saved{.epoch = 3, .watch = "auc", .best = 0.7};
  saved.position = DatasetPosition{.epoch = 3, .ordinal = 12};
  saved.settings = {{"--data", "a"}};
  RunState other = saved;
  other.position->ordinal = 8;
  other.so_far.rows = 800;
  other.settings = {{"--data", "b"}};
  saved.others = {other.ToText()};
  for (int trainer = 0; trainer < 2; ++trainer) {
    RunState state = *RunState::FromText(saved.ToText());
    ASSERT_TRUE(state.TakePlace(trainer, 2).ok());
    EXPECT_EQ(state.position->ordinal, trainer == 0 ? 12 : 8);
    EXPECT_EQ(state.so_far.rows, trainer == 0 ? 0 : 800);
    EXPECT_EQ(state.settings.at("--data"), trainer == 0 ? "a" : "b");
    EXPECT_EQ(state.best, 0.7);
    EXPECT_TRUE(state.others.empty());
  }
  for (const int trainers : {1, 3}) {
    RunState state = *RunState::FromText(saved.ToText());
    const Status refused = state.TakePlace(0, trainers);
    EXPECT_TRUE(absl::IsFailedPrecondition(refused));
    EXPECT_NE(refused.message().find("inside epoch 3 by 2 trainer(s)"), std::string::npos)
        << refused;
  }
  // Between epochs any number of trainers continues.
  RunState between{.epoch = 4};
  EXPECT_TRUE(between.TakePlace(5, 7).ok());
}

TEST(RunStateTest, ComesBackFromItsText) {
  RunState state{.epoch = 3, .watch = "logloss", .best = -0.1, .best_epoch = 1, .last = 0.2};
  state.epochs_without_better = 1;
  state.rate_factor = 0.01;
  state.tested = "1 file, 10 bytes (test)";
  state.settings = {{"--batch_size", "10"}};
  const auto read = RunState::FromText(state.ToText());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->epoch, 3);
  EXPECT_EQ(read->watch, "logloss");
  EXPECT_EQ(read->best, -0.1);
  EXPECT_EQ(read->best_epoch, 1);
  EXPECT_EQ(read->last, 0.2);
  EXPECT_EQ(read->epochs_without_better, 1);
  EXPECT_EQ(read->rate_factor, 0.01);
  EXPECT_EQ(read->tested, state.tested);
  EXPECT_EQ(read->settings, state.settings);
  const auto fresh = RunState::FromText(RunState{}.ToText());
  ASSERT_TRUE(fresh.ok()) << fresh.status();
  EXPECT_TRUE(std::isnan(fresh->best));
  EXPECT_TRUE(std::isnan(fresh->last));
}

TEST(RunStateTest, ReadsTheStatesOfEarlierVersions) {
  const auto tested = RunState::FromText(
      R"({"epoch": 2, "best_auc": 0.75, "best_epoch": 0, "last_auc": 0.7,
          "epochs_without_better": 1})");
  ASSERT_TRUE(tested.ok()) << tested.status();
  EXPECT_EQ(tested->watch, "auc");
  EXPECT_EQ(tested->best, 0.75);
  EXPECT_EQ(tested->last, 0.7);
  EXPECT_EQ(tested->epochs_without_better, 1);
  EXPECT_EQ(tested->rate_factor, 1);
  const auto untested =
      RunState::FromText(R"({"epoch": 2, "best_auc": -1, "epochs_without_better": 0})");
  ASSERT_TRUE(untested.ok()) << untested.status();
  EXPECT_TRUE(std::isnan(untested->best));
  EXPECT_TRUE(std::isnan(untested->last));
  EXPECT_EQ(untested->best_epoch, -1);
}

TEST(RunStateTest, DamagedTextIsAnError) {
  for (const char* text : {"", "[]", "{}", R"({"epoch": 1, "watch": 7})",
                           R"({"epoch": 1, "watch": "auc", "best": "x"})"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(RunState::FromText(text).status())) << text;
  }
}

TEST(RunStateTest, LargerOrSmallerTestsAreTheBest) {
  for (const bool larger : {true, false}) {
    const double sign = larger ? 1 : -1;
    RunState state{.watch = "metric"};
    EXPECT_FALSE(state.NoteTest(0, std::nan(""), larger));
    EXPECT_EQ(state.epochs_without_better, 1);
    EXPECT_TRUE(state.NoteTest(1, sign * 0.5, larger));
    EXPECT_EQ(state.epochs_without_better, 0);
    EXPECT_FALSE(state.NoteTest(2, sign * 0.5, larger));
    EXPECT_FALSE(state.NoteTest(3, std::nan(""), larger));
    EXPECT_TRUE(std::isnan(state.last));
    EXPECT_EQ(state.epochs_without_better, 2);
    EXPECT_TRUE(state.NoteTest(4, sign * 0.75, larger));
    EXPECT_EQ(state.best, sign * 0.75);
    EXPECT_EQ(state.best_epoch, 4);
  }
}

TEST(RunStateTest, FiguresOfAnotherMetricAreForgotten) {
  RunState state{.watch = "auc"};
  state.NoteTest(0, 0.75, true);
  state.NoteTest(1, 0.5, true);
  state.Watch("auc");
  EXPECT_EQ(state.best, 0.75);
  state.Watch("logloss");
  EXPECT_TRUE(std::isnan(state.best));
  EXPECT_TRUE(std::isnan(state.last));
  EXPECT_EQ(state.best_epoch, -1);
  EXPECT_EQ(state.epochs_without_better, 0);
  EXPECT_TRUE(state.NoteTest(2, 0.6, false));
}

TEST(RunStateTest, WithoutAMetricNoEpochIsTheBestAndNoneCounts) {
  RunState state;
  EXPECT_FALSE(state.NoteTest(0, 0.75, true));
  EXPECT_EQ(state.epochs_without_better, 0);
}

}  // namespace
}  // namespace flotilla
