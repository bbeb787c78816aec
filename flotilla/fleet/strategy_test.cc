#include "flotilla/fleet/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flotilla {
namespace {

using ::testing::HasSubstr;

// The mode of a strategy given as text, or the error.
std::string Outcome(const std::string& text) {
  const StatusOr<Strategy> strategy = Strategy::FromText(text);
  if (!strategy.ok()) return std::string(strategy.status().message());
  JobOptions job;
  const Status status = ApplyStrategy(*strategy, &job);
  return status.ok() ? job.mode.mode : std::string(status.message());
}

TEST(StrategyTest, FieldsOfTheSeedsNameOurModes) {
  EXPECT_EQ(Outcome(""), "sync");
  EXPECT_EQ(Outcome("sync_mode=true"), "sync");
  EXPECT_EQ(Outcome("sync_mode=True, runtime_split_send_recv=False"), "sync");
  EXPECT_EQ(Outcome("a_sync=false"), "sync");
  EXPECT_EQ(Outcome("sync_mode=false"), "async");
  EXPECT_EQ(Outcome("sync_mode=0 runtime_split_send_recv=1"), "async");
  EXPECT_EQ(Outcome("a_sync=true"), "async");
  EXPECT_EQ(Outcome("a_sync=true,k_steps=0"), "async");
  EXPECT_EQ(Outcome("a_sync=true,k_steps=10"), "geo");
  EXPECT_EQ(Outcome("sync_mode=false,geo_sgd_mode=true"), "geo");
  EXPECT_EQ(Outcome("mode=half-async"), "half-async");
}

TEST(StrategyTest, BothSpellingsSetTheBatchesBetweenExchanges) {
  for (const char* name : {"geo_sgd_need_push_nums", "geo_sgd_need_push_num"}) {
    const auto strategy = Strategy::FromText(fmt::format("geo_sgd_mode=true,{}=400", name));
    ASSERT_TRUE(strategy.ok()) << strategy.status();
    JobOptions job;
    ASSERT_TRUE(ApplyStrategy(*strategy, &job).ok());
    EXPECT_EQ(job.mode.geo.interval.push_nums, 400);
  }
  JobOptions job;
  ASSERT_TRUE(ApplyStrategy({.a_sync = true, .k_steps = 30}, &job).ok());
  EXPECT_EQ(job.mode.geo.interval.push_nums, 30);
  ASSERT_TRUE(ApplyStrategy({.geo_sgd_need_push_nums = 20, .mode = "geo"}, &job).ok());
  EXPECT_EQ(job.mode.geo.interval.push_nums, 20);
}

TEST(StrategyTest, ContradictionsNameBothFields) {
  struct Case {
    const char* text;
    const char* first;
    const char* second;
  };
  const Case cases[] = {
      {"sync_mode=true,runtime_split_send_recv=true", "sync_mode is true",
       "runtime_split_send_recv is true"},
      {"runtime_split_send_recv=true", "sync_mode is not set", "runtime_split_send_recv is true"},
      {"a_sync=false,runtime_split_send_recv=true", "a_sync is false",
       "runtime_split_send_recv is true"},
      {"sync_mode=true,geo_sgd_mode=true", "sync_mode is true", "geo_sgd_mode is true"},
      {"sync_mode=true,a_sync=true", "sync_mode is true", "a_sync is true"},
      {"sync_mode=false,a_sync=false", "sync_mode is false", "a_sync is false"},
      {"a_sync=false,geo_sgd_mode=true", "a_sync is false", "geo_sgd_mode is true"},
      {"k_steps=5", "k_steps is 5", "a_sync is not set"},
      {"a_sync=true,k_steps=0,geo_sgd_mode=true", "k_steps is 0", "geo_sgd_mode is true"},
      {"a_sync=true,k_steps=5,geo_sgd_need_push_nums=6", "k_steps is 5",
       "geo_sgd_need_push_nums is 6"},
      {"sync_mode=false,geo_sgd_need_push_nums=6", "geo_sgd_need_push_nums is 6",
       "geo_sgd_mode is not set"},
      {"geo_sgd_mode=true,runtime_split_send_recv=false", "geo_sgd_mode is true",
       "runtime_split_send_recv is false"},
      {"mode=async,sync_mode=false", "mode is async", "sync_mode is set"},
      {"mode=async,geo_sgd_need_push_nums=6", "mode is async", "geo_sgd_need_push_nums is set"}};
  for (const Case& c : cases) {
    EXPECT_THAT(Outcome(c.text), HasSubstr(c.first)) << c.text;
    EXPECT_THAT(Outcome(c.text), HasSubstr(c.second)) << c.text;
  }
}

TEST(StrategyTest, WhatIsNoFieldOrNoValueIsNamed) {
  EXPECT_THAT(Outcome("sinc_mode=true"), HasSubstr("did you mean sync_mode?"));
  EXPECT_THAT(Outcome("sync_mode=maybe"), HasSubstr("sync_mode is 'maybe'"));
  EXPECT_THAT(Outcome("k_steps=1x"), HasSubstr("k_steps is '1x'"));
  EXPECT_THAT(Outcome("sync_mode"), HasSubstr("'sync_mode' is not of the form NAME=VALUE"));
  EXPECT_THAT(Outcome("mode=asink"), HasSubstr("did you mean async?"));
  EXPECT_THAT(Outcome("geo_sgd_mode=true,geo_sgd_need_push_nums=0"), HasSubstr("at least 1"));
  EXPECT_THAT(Outcome("a_sync=true,k_steps=-1"), HasSubstr("k_steps is -1"));
}

TEST(StrategyTest, WithoutTheQueueEveryStepIsPushedByItself) {
  const Strategy strategy{.sync_mode = false, .runtime_split_send_recv = false};
  JobOptions job;
  ASSERT_TRUE(ApplyStrategy(strategy, &job).ok());
  EXPECT_EQ(job.mode.async.max_merge, 1);
  EXPECT_EQ(job.mode.async.max_staleness, 0);
  JobOptions steered;
  steered.flags.set = "FLAGS_rpc_deadline FLAGS_communicator_send_queue_size FLAGS_rpc_retry_times";
  EXPECT_THAT(std::string(ApplyStrategy(strategy, &steered).message()),
              HasSubstr("FLAGS_communicator_send_queue_size is set"));
}

}  // namespace
}  // namespace flotilla
