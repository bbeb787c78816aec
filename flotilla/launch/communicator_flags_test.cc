#include "flotilla/launch/communicator_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flotilla {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The result of reading variables: options of modes, and all others.
struct Said {
  CommunicatorFlags flags;
  ModeOptions mode;

  // For a trainer in that mode.
  std::string Table(const std::string& name) {
    mode.mode = name;
    return flags.Table(mode);
  }
};

StatusOr<Said> FlagsFrom(const Environment& variables, Said said = {}) {
  FL_ASSIGN_OR_RETURN(said.flags, CommunicatorFlagsFrom(variables, said.flags, &said.mode));
  return said;
}

TEST(CommunicatorFlagsTest, WithoutVariablesOurDefaultsHold) {
  Said said = *FlagsFrom({});
  EXPECT_EQ(said.mode.async.max_merge, AsyncOptions().max_merge);
  EXPECT_EQ(said.mode.async.sends_per_refresh, AsyncOptions().sends_per_refresh);
  EXPECT_TRUE(said.flags.set.empty());
}

TEST(CommunicatorFlagsTest, TheSeedsNumbersApplyWhenTheyAreSet) {
  Said said = *FlagsFrom({{"FLAGS_communicator_max_merge_var_num", "20"},
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
  EXPECT_EQ(said.mode.async.max_merge, 20);
  EXPECT_EQ(said.mode.async.send_queue_size, 10);
  EXPECT_EQ(said.mode.async.merge_wait_ms, 50);
  EXPECT_EQ(said.mode.async.send_threads, 2);
  EXPECT_EQ(said.mode.geo.pushes_under_way, 2);
  EXPECT_EQ(said.mode.async.sends_per_refresh, 20);
  EXPECT_TRUE(said.mode.async.independent_receive);
  EXPECT_EQ(said.mode.async.merge_rule, MergeRule::kAverage);
  EXPECT_TRUE(said.mode.async.fake_rpc);
  PsClientOptions client;
  said.flags.Apply(&client);
  EXPECT_EQ(client.rpc_timeout_ms, 5000);
  EXPECT_EQ(client.retry.retry_times, 7);
  EXPECT_EQ(client.heartbeat.silent_bound_ms, 30'000);
  EXPECT_THAT(said.Table("async"), HasSubstr("FLAGS_rpc_deadline"));
  EXPECT_THAT(said.Table("async"), HasSubstr("5000  (set)"));
}

TEST(CommunicatorFlagsTest, TheTableShowsWhatAModeReadsAndWhatWasSetInVain) {
  Said said = *FlagsFrom({{"FLAGS_communicator_send_queue_size", "10"}});
  const std::string async = said.Table("async"), geo = said.Table("geo");
  for (const char* name : {"max_merge_var_num", "is_sgd_optimizer", "fake_rpc"}) {
    EXPECT_THAT(async, HasSubstr(name));
    EXPECT_THAT(geo, Not(HasSubstr(name)));
  }
  EXPECT_THAT(async, HasSubstr("10  (set)\n"));
  EXPECT_THAT(geo, HasSubstr("10  (set, but only async reads it)\n"));
  EXPECT_THAT(geo, HasSubstr("FLAGS_rpc_deadline"));
}

TEST(CommunicatorFlagsTest, TheTableOfGeoShowsPushStepDivisorAndThreads) {
  Said said = *FlagsFrom({{"FLAGS_communicator_thread_pool_size", "3"}});
  EXPECT_THAT(said.Table("geo"), HasSubstr(" 3  (set)\n"));
  EXPECT_THAT(said.Table("geo"), HasSubstr("automatic  batches between two exchanges\n"));
  EXPECT_THAT(said.Table("geo"), HasSubstr("touched  of differences\n"));
  said.mode.geo.interval.push_nums = 400;
  said.mode.geo.divisor = GeoDivisor::kTrainers;
  EXPECT_THAT(said.Table("geo"), HasSubstr("400  batches between two exchanges\n"));
  EXPECT_THAT(said.Table("geo"), HasSubstr("trainers  of differences\n"));
  EXPECT_THAT(said.Table("sync"), HasSubstr("(set, but only async and geo read it)\n"));
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
  auto said = FlagsFrom({{"FLAGS_allocator_strategy", "auto_growth"},
                         {"FLAGS_eager_delete_tensor_gb", "0"},
                         {"FLAGS_rpc_send_thread_num", "12"}});
  ASSERT_TRUE(said.ok()) << said.status();
  const std::string table = said->Table("async");
  EXPECT_THAT(table, HasSubstr("FLAGS_rpc_send_thread_num"));
  EXPECT_THAT(table, HasSubstr("(set, but has no meaning here)\n"));
  EXPECT_THAT(table, Not(HasSubstr("allocator")));
}

TEST(CommunicatorFlagsTest, WhatAProgramSetHoldsUnlessAVariableSaysOtherwise) {
  Said own;
  own.mode.async.max_staleness = 3;
  own.mode.async.merge_wait_ms = 15;
  own.flags.rpc_deadline_ms = 7000;
  own.flags.silent_bound_ms = 1500;
  const Said said = *FlagsFrom({{"FLAGS_rpc_deadline", "5000"}}, own);
  EXPECT_EQ(said.mode.async.max_staleness, 3);
  EXPECT_EQ(said.mode.async.merge_wait_ms, 15);
  EXPECT_EQ(said.flags.rpc_deadline_ms, 5000);
  EXPECT_EQ(said.flags.silent_bound_ms, 1500);
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
