#include "flotilla/run/run_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(RunStateTest, APositionKeepsTheReportOfItsEpochSoFar) {
  RunState state;
  state.epoch = 3;
  state.earlier_steps = 70;
  state.position = DatasetPosition{.epoch = 3, .ordinal = 12};
  state.so_far.rows = 1200;
  state.so_far.trained = 1100;
  state.so_far.batches = 12;
  state.so_far.bad_batches = 2;
  state.so_far.bad_batch_rows = 200;
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
  EXPECT_EQ(read->so_far.bad_batches, 2);
  EXPECT_EQ(read->so_far.bad_batch_rows, 200);
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
    ASSERT_TRUE(state.TakePlace(trainer, 2, {}).ok());
    EXPECT_EQ(state.position->ordinal, trainer == 0 ? 12 : 8);
    EXPECT_EQ(state.so_far.rows, trainer == 0 ? 0 : 800);
    EXPECT_EQ(state.settings.at("--data"), trainer == 0 ? "a" : "b");
    EXPECT_EQ(state.best, 0.7);
    EXPECT_TRUE(state.others.empty());
  }
  // Between epochs any number of trainers continues.
  RunState between{.epoch = 4};
  EXPECT_TRUE(between.TakePlace(5, 7, {}).ok());
}

// The state of a job of trainers that stand at these positions, each in its own share.
RunState SavedBy(std::initializer_list<int64_t> ordinals) {
  std::vector<RunState> states;
  for (const int64_t ordinal : ordinals) {
    RunState state{.epoch = 3, .best = 0.7, .settings = {{"--data", "a"}}};
    state.position = DatasetPosition{.epoch = 3, .ordinal = ordinal};
    state.shares = {.count = static_cast<int>(ordinals.size()),
                    .by_size = true,
                    .own = {static_cast<int>(states.size())}};
    state.so_far.rows = state.so_far.trained = 10 * ordinal;
    state.so_far.loss = static_cast<double>(ordinal);
    state.so_far.seconds = 2;
    states.push_back(std::move(state));
  }
  for (size_t t = 1; t < states.size(); ++t) states[0].others.push_back(states[t].ToText());
  return states[0];
}

TEST(RunStateTest, AnotherNumberOfTrainersIsDealtTheShares) {
  const std::string saved = SavedBy({12, 8, 20}).ToText();
  std::vector<RunState> two(2, *RunState::FromText(saved));
  for (int t = 0; t < 2; ++t) ASSERT_TRUE(two[t].TakePlace(t, 2, {}).ok());
  EXPECT_THAT(two[0].shares.own, ElementsAre(0, 2));
  EXPECT_THAT(two[1].shares.own, ElementsAre(1));
  EXPECT_EQ(two[0].shares.count, 3);
  EXPECT_TRUE(two[1].shares.by_size);
  ASSERT_EQ(two[0].position->parts.size(), 2);
  EXPECT_EQ(two[0].position->parts[1].ordinal, 20);
  EXPECT_EQ(two[1].position->ordinal, 8);
  EXPECT_EQ(two[0].so_far.rows, 320);
  EXPECT_DOUBLE_EQ(two[0].so_far.loss, (120.0 * 12 + 200.0 * 20) / 320);
  EXPECT_EQ(two[1].so_far.rows, 80);
  EXPECT_EQ(two[0].best, 0.7);

  // What two have saved is continued by five, two of which have nothing to do, and by one.
  two[0].others = {two[1].ToText()};
  int64_t rows = 0;
  for (int t = 0; t < 5; ++t) {
    RunState state = *RunState::FromText(two[0].ToText());
    const Status taken = state.TakePlace(t, 5, {});
    ASSERT_TRUE(taken.ok()) << taken;
    EXPECT_EQ(state.position.has_value(), t < 3);
    EXPECT_EQ(state.shares.own.size(), t < 3 ? 1 : 0);
    const int64_t ordinal = t < 3 ? state.position->ordinal : -1;
    EXPECT_EQ(ordinal, (std::vector<int64_t>{12, 8, 20, -1, -1})[t]);
    rows += state.so_far.rows;
  }
  EXPECT_EQ(rows, 400);
  RunState one = *RunState::FromText(two[0].ToText());
  ASSERT_TRUE(one.TakePlace(0, 1, {}).ok());
  EXPECT_THAT(one.shares.own, ElementsAre(0, 1, 2));
  EXPECT_EQ(one.so_far.rows, 400);
  RunState back = *RunState::FromText(one.ToText());
  ASSERT_TRUE(back.TakePlace(1, 3, {}).ok());
  EXPECT_EQ(back.position->ordinal, 8);
}

// Of ten shares, the trainers have begun those in `begun`, and the others are still to be taken.
TEST(RunStateTest, SharesThatWereTakenAreDealtAndTheOthersAreTakenAgain) {
  const std::vector<std::vector<int>> begun = {{0, 2, 5}, {}, {4}};
  std::vector<RunState> states;
  for (const std::vector<int>& own : begun) {
    RunState state{.epoch = 3, .settings = {{"--data", "a"}}};
    state.shares = {.count = 10, .by_size = true, .dealt = true, .own = own};
    state.position = DatasetPosition{.epoch = 3};
    for (const int share : own) {
      state.position->parts.push_back({.epoch = 3, .rows = share, .ended = share == 0});
    }
    states.push_back(state);
  }
  for (size_t t = 1; t < states.size(); ++t) states[0].others.push_back(states[t].ToText());
  const std::string saved = states[0].ToText();
  for (int t = 0; t < 3; ++t) {
    RunState same = *RunState::FromText(saved);
    ASSERT_TRUE(same.TakePlace(t, 3, {}).ok());
    EXPECT_EQ(same.shares, states[t].shares);
    EXPECT_EQ(same.position.has_value(), t != 1);
  }
  std::vector<RunState> two(2, *RunState::FromText(saved));
  for (int t = 0; t < 2; ++t) ASSERT_TRUE(two[t].TakePlace(t, 2, {}).ok());
  EXPECT_THAT(two[0].shares.own, ElementsAre(0, 4));
  EXPECT_THAT(two[1].shares.own, ElementsAre(2, 5));
  EXPECT_TRUE(two[0].shares.dealt);
  EXPECT_TRUE(two[0].position->parts[0].ended);
  EXPECT_EQ(two[1].position->parts[1].rows, 5);
}

TEST(RunStateTest, RowsThatAreATrainersOwnNeedTheSameNumberOfTrainers) {
  const auto refusal = [](RunState saved) {
    const Status refused = saved.TakePlace(0, 3, {});
    EXPECT_TRUE(absl::IsFailedPrecondition(refused));
    return std::string(Message(refused));
  };
  RunState own = SavedBy({12, 8});
  own.shares = {};
  EXPECT_THAT(refusal(own),
              HasSubstr("inside epoch 3 by 2 trainer(s), and this run has 3: the rows "
                        "of each trainer were its own; continue with 2"));
  RunState files = SavedBy({12, 8});
  files.settings["--data"] = "b";
  EXPECT_THAT(refusal(files), HasSubstr("trainer 1 had other files or options than trainer 0"));
}

TEST(RunStateTest, SharesThatCannotBeAreErrors) {
  std::string text = SavedBy({12}).ToText();
  const size_t at = text.find("\"own\":[0]");
  ASSERT_NE(at, std::string::npos);
  text.replace(at, 9, "\"own\":[1]");
  EXPECT_THAT(Message(RunState::FromText(text).status()), HasSubstr("share 1 of 1"));
  RunState one = SavedBy({12, 8});
  one.shares.own = {0, 1};
  EXPECT_TRUE(absl::IsInvalidArgument(one.TakePlace(0, 3, {})));
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

TEST(RunStateTest, OptionsThatARunChangesAreNamed) {
  Model model;
  model.optimizer.learning_rate = {.params = {{"rate", 0.1}, {"cooldown_start", 7}}};
  RunState state{.epoch = 3, .options = RunOptionsOf({{"--data", "a"}, {"--seed", "0"}}, model)};
  state = *RunState::FromText(state.ToText());
  EXPECT_EQ(state.options.at("--learning_rate"), "0.1");
  model.optimizer.learning_rate.params["cooldown_start"] = 9;
  EXPECT_EQ(ChangedOptions(state.options, RunOptionsOf({{"--data", "a"}}, model)), "");
  model.optimizer.learning_rate.params["rate"] = 0.01;
  EXPECT_EQ(ChangedOptions(state.options, RunOptionsOf({{"--data", "b"}, {"--new", "x"}}, model)),
            "--data was a, now b; --learning_rate was 0.1, now 0.01");
  EXPECT_EQ(ChangedOptions({}, RunOptionsOf({{"--data", "b"}}, model)), "") << "an earlier version";
}

}  // namespace
}  // namespace flotilla
