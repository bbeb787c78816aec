#include "flotilla/launch/communicator_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flotilla {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

StatusOr<CommunicatorFlags> FlagsFrom(const Environment& variables) {
  return CommunicatorFlagsFrom(variables);
}

TEST(CommunicatorFlagsTest, WithoutVariablesOurDefaultsHold) {
  const CommunicatorFlags flags = *FlagsFrom({});
  EXPECT_EQ(flags.async.max_merge, AsyncOptions().max_merge);
  EXPECT_EQ(flags.async.sends_per_refresh, AsyncOptions().sends_per_refresh);
  EXPECT_TRUE(flags.set.empty());
}

TEST(CommunicatorFlagsTest, TheSeedsNumbersApplyWhenTheyAreSet) {
  const CommunicatorFlags flags =
      *FlagsFrom({{"FLAGS_communicator_max_merge_var_num", "20"},
                  {"FLAGS_communicator_send_queue_size", "10"},
                  {"FLAGS_communicator_send_wait_times", "5"},
                  {"FLAGS_communicator_thread_pool_size", "2"},
                  {"FLAGS_communicator_min_send_grad_num_before_recv", "20"},
                  {"FLAGS_communicator_independent_recv_thread", "1"},
                  {"FLAGS_communicator_is_sgd_optimizer", "0"},
                  {"FLAGS_communicator_merge_sparse_grad", "1"},
                  {"FLAGS_communicator_fake_rpc", "1"},
                  {"FLAGS_rpc_deadline", "5000"},
                  {"FLAGS_rpc_retry_times", "7"},
                  {"FLAGS_worker_update_interval_secs", "30"}});
  EXPECT_EQ(flags.async.max_merge, 20);
  EXPECT_EQ(flags.async.send_queue_size, 10);
  EXPECT_EQ(flags.async.merge_wait_ms, 50);
  EXPECT_EQ(flags.async.send_threads, 2);
  EXPECT_EQ(flags.async.sends_per_refresh, 20);
  EXPECT_TRUE(flags.async.independent_receive);
  EXPECT_EQ(flags.async.merge_rule, MergeRule::kAverage);
  EXPECT_TRUE(flags.async.fake_rpc);
  PsClientOptions client;
  flags.Apply(&client);
  EXPECT_EQ(client.rpc_timeout_ms, 5000);
  EXPECT_EQ(client.retry.retry_times, 7);
  EXPECT_EQ(client.heartbeat.silent_bound_ms, 30'000);
  EXPECT_THAT(flags.Table({.mode = "async"}), HasSubstr("FLAGS_rpc_deadline"));
  EXPECT_THAT(flags.Table({.mode = "async"}), HasSubstr("5000  (set)"));
}

TEST(CommunicatorFlagsTest, TheTableShowsWhatAModeReadsAndWhatWasSetInVain) {
  const CommunicatorFlags flags = *FlagsFrom({{"FLAGS_communicator_send_queue_size", "10"}});
  const std::string async = flags.Table({.mode = "async"}), geo = flags.Table({.mode = "geo"});
  for (const char* name : {"max_merge_var_num", "is_sgd_optimizer", "fake_rpc"}) {
    EXPECT_THAT(async, HasSubstr(name));
    EXPECT_THAT(geo, Not(HasSubstr(name)));
  }
  EXPECT_THAT(async, HasSubstr("10  (set)\n"));
  EXPECT_THAT(geo, HasSubstr("10  (set, but only async reads it)\n"));
  EXPECT_THAT(geo, HasSubstr("FLAGS_rpc_deadline"));
}

TEST(CommunicatorFlagsTest, TheTableOfGeoShowsPushStepDivisorAndThreads) {
  const CommunicatorFlags flags = *FlagsFrom({{"FLAGS_communicator_thread_pool_size", "3"}});
  ModeOptions mode{.mode = "geo"};
  EXPECT_THAT(flags.Table(mode), HasSubstr(" 3  (set)\n"));
  EXPECT_THAT(flags.Table(mode), HasSubstr("automatic  batches between two exchanges\n"));
  EXPECT_THAT(flags.Table(mode), HasSubstr("touched  of differences\n"));
  mode.geo.interval.push_nums = 400;
  mode.geo.divisor = GeoDivisor::kTrainers;
  EXPECT_THAT(flags.Table(mode), HasSubstr("400  batches between two exchanges\n"));
  EXPECT_THAT(flags.Table(mode), HasSubstr("trainers  of differences\n"));
  EXPECT_THAT(flags.Table({.mode = "sync"}), HasSubstr("(set, but only async and geo read it)\n"));
}

TEST(CommunicatorFlagsTest, AMisspeltNameIsAnErrorWithTheNearestOne) {
  const auto error = [](const std::string& name) {
    return std::string(Message(FlagsFrom({{name, "5"}}).status()));
  };
  EXPECT_EQ(
      error("FLAGS_communicator_thread_poolsize"),
      "FLAGS_communicator_thread_poolsize is set, but there is no such variable, did you mean "
      "FLAGS_communicator_thread_pool_size?");
  EXPECT_THAT(error("FLAGS_rpc_retry_time"), HasSubstr("did you mean FLAGS_rpc_retry_times?"));
  EXPECT_THAT(error("FLAGS_worker_update_interval_sec"),
              HasSubstr("did you mean FLAGS_worker_update_interval_secs?"));
}

TEST(CommunicatorFlagsTest, NamesOfOtherProgramsAndOfTheOriginalAreAccepted) {
  const auto flags = FlagsFrom({{"FLAGS_allocator_strategy", "auto_growth"},
                                {"FLAGS_eager_delete_tensor_gb", "0"},
                                {"FLAGS_rpc_send_thread_num", "12"}});
  ASSERT_TRUE(flags.ok()) << flags.status();
  const std::string table = flags->Table({.mode = "async"});
  EXPECT_THAT(table, HasSubstr("FLAGS_rpc_send_thread_num"));
  EXPECT_THAT(table, HasSubstr("(set, but has no meaning here)\n"));
  EXPECT_THAT(table, Not(HasSubstr("allocator")));
}

TEST(CommunicatorFlagsTest, WhatAProgramSetHoldsUnlessAVariableSaysOtherwise) {
  CommunicatorFlags own;
  own.async.max_staleness = 3;
  own.async.merge_wait_ms = 15;
  own.rpc_deadline_ms = 7000;
  own.silent_bound_ms = 1500;
  const CommunicatorFlags flags = *CommunicatorFlagsFrom({{"FLAGS_rpc_deadline", "5000"}}, own);
  EXPECT_EQ(flags.async.max_staleness, 3);
  EXPECT_EQ(flags.async.merge_wait_ms, 15);
  EXPECT_EQ(flags.rpc_deadline_ms, 5000);
  EXPECT_EQ(flags.silent_bound_ms, 1500);
}

TEST(CommunicatorFlagsTest, BadValuesAreErrorsThatNameTheVariable) {
  auto error = [](const std::string& name, const std::string& value) {
    const auto flags = FlagsFrom({{name, value}});
    EXPECT_FALSE(flags.ok());
    return std::string(Message(flags.status()));
  };
  EXPECT_THAT(error("FLAGS_communicator_max_merge_var_num", "0"),
              HasSubstr("FLAGS_communicator_max_merge_var_num is '0': a whole number from 1"));
  EXPECT_THAT(error("FLAGS_communicator_fake_rpc", "maybe"), HasSubstr("0 or 1 was expected"));
  EXPECT_THAT(error("FLAGS_communicator_merge_sparse_grad", "0"), HasSubstr("leave it out"));
  EXPECT_THAT(error("FLAGS_rpc_deadline", "1s"), HasSubstr("'1s'"));
}

}  // namespace
}  // namespace flotilla
