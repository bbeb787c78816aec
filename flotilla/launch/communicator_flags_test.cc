#include "flotilla/launch/communicator_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flotilla {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Variables = std::map<std::string, std::string>;

StatusOr<CommunicatorFlags> FlagsFrom(const Variables& variables) {
  return CommunicatorFlagsFrom([&](const std::string& name) -> std::optional<std::string> {
    const auto at = variables.find(name);
    if (at == variables.end()) return std::nullopt;
    return at->second;
  });
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
  EXPECT_THAT(flags.Table("async"), HasSubstr("FLAGS_rpc_deadline"));
  EXPECT_THAT(flags.Table("async"), HasSubstr("5000  (set)"));
}

TEST(CommunicatorFlagsTest, TheTableShowsWhatAModeReadsAndWhatWasSetInVain) {
  const CommunicatorFlags flags = *FlagsFrom({{"FLAGS_communicator_send_queue_size", "10"}});
  const std::string async = flags.Table("async"), geo = flags.Table("geo");
  for (const char* name : {"max_merge_var_num", "is_sgd_optimizer", "fake_rpc"}) {
    EXPECT_THAT(async, HasSubstr(name));
    EXPECT_THAT(geo, Not(HasSubstr(name)));
  }
  EXPECT_THAT(async, HasSubstr("10  (set)\n"));
  EXPECT_THAT(geo, HasSubstr("10  (set, but only async reads it)\n"));
  EXPECT_THAT(geo, HasSubstr("FLAGS_rpc_deadline"));
}

TEST(CommunicatorFlagsTest, WhatAProgramSetHoldsUnlessAVariableSaysOtherwise) {
  CommunicatorFlags own;
  own.async.max_staleness = 3;
  own.async.merge_wait_ms = 15;
  own.rpc_deadline_ms = 7000;
  own.silent_bound_ms = 1500;
  const auto environment = [](const std::string& name) -> std::optional<std::string> {
    if (name == "FLAGS_rpc_deadline") return "5000";
    return std::nullopt;
  };
  const CommunicatorFlags flags = *CommunicatorFlagsFrom(environment, own);
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
