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

TEST(RunStateTest, ADamagedStateIsAnError) {
  EXPECT_THAT(RunState::FromText("{}").status().message(), HasSubstr("section run"));
  EXPECT_FALSE(RunState::FromText("").ok());
}

}  // namespace
}  // namespace flotilla
