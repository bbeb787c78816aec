#include "flotilla/launch/job_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/launch/local_cluster.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

TEST(JobEnvironmentTest, VariablesThatAreSetTakeThePlaceOfWhatTheProgramSaid) {
  JobEnvironment own;
  own.job_id = "own";
  own.status_file = "own.status";
  const auto unset = JobFromEnvironment(Environment(), own);
  ASSERT_TRUE(unset.ok()) << unset.status();
  EXPECT_EQ(unset->job_id, "own");
  EXPECT_EQ(unset->status_file, "own.status");
  EXPECT_EQ(unset->result_file, "");
  EXPECT_EQ(unset->role, Role());
  const auto set = JobFromEnvironment(Environment({{kJobIdVariable, "7"},
                                                   {kStatusFileVariable, "a"},
                                                   {kResultFileVariable, "b"},
                                                   {kTurnsVariable, "c"}}),
                                      own);
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_EQ(set->job_id, "7");
  EXPECT_EQ(set->status_file, "a");
  EXPECT_EQ(set->result_file, "b");
  EXPECT_EQ(set->turns, "c");
}

TEST(JobEnvironmentTest, AWrongRoleOrFlagIsAnError) {
  EXPECT_THAT(
      std::string(Message(JobFromEnvironment(Environment({{"TRAINING_ROLE", "KING"}})).status())),
      HasSubstr("TRAINING_ROLE is 'KING'"));
}

TEST(JobEnvironmentTest, AGivenRoleWinsOverTheVariables) {
  const Role role{.kind = Role::Kind::kTrainer, .index = 1, .servers = {"h:1"}, .trainers = 2};
  const auto job = JobFromEnvironment(
      Environment({{"TRAINING_ROLE", "KING"}, {"PADDLE_PORT", "1,2"}, {kJobIdVariable, "7"}}), {},
      role);
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->role, role);
  EXPECT_EQ(job->job_id, "7");
}

TEST(JobEnvironmentTest, EveryJobHasAnIdOfItsOwn) { EXPECT_NE(NewJobId(), NewJobId()); }

}  // namespace
}  // namespace flotilla
