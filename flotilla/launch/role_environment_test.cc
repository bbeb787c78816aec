#include "flotilla/launch/role_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flotilla {
namespace {

using ::testing::HasSubstr;
using Variables = Environment;

StatusOr<Role> RoleFrom(const Variables& variables) { return RoleFromEnvironment(variables); }

Variables TrainerVariables() {
  return {{"TRAINING_ROLE", "TRAINER"},
          {"PADDLE_TRAINERS_NUM", "3"},
          {"PADDLE_TRAINER_ID", "2"},
          {"PADDLE_PSERVERS_IP_PORT_LIST", "10.0.0.1:6170,10.0.0.2:6170"}};
}

Variables ServerVariables() {
  return {{"TRAINING_ROLE", "PSERVER"},
          {"PADDLE_TRAINERS_NUM", "3"},
          {"PADDLE_PSERVERS_IP_PORT_LIST", "10.0.0.1:6170,10.0.0.2:6170"},
          {"POD_IP", "10.0.0.2"},
          {"PADDLE_PORT", "6170"}};
}

std::string ErrorOf(Variables variables, const std::string& name, const std::string& value) {
  if (value.empty()) {
    variables.erase(name);
  } else {
    variables[name] = value;
  }
  const auto role = RoleFrom(variables);
  EXPECT_FALSE(role.ok());
  return std::string(Message(role.status()));
}

TEST(RoleEnvironmentTest, WithoutTheVariableARunIsLocal) {
  EXPECT_EQ(RoleFrom({{"PADDLE_TRAINERS_NUM", "3"}})->kind, Role::Kind::kLocal);
}

TEST(RoleEnvironmentTest, TheNumberOfWorkersIsReadInALocalRunToo) {
  EXPECT_EQ(RoleFrom({})->threads, std::nullopt);
  EXPECT_EQ(RoleFrom({{"CPU_NUM", "3"}})->threads, 3);
  EXPECT_THAT(std::string(Message(RoleFrom({{"CPU_NUM", "0"}}).status())),
              HasSubstr("CPU_NUM is '0': a number of workers of at least 1"));
}

TEST(RoleEnvironmentTest, WithoutTheVariableNothingMayBeThereThatOnlyAJobHas) {
  EXPECT_EQ(
      ErrorOf(TrainerVariables(), "TRAINING_ROLE", ""),
      "TRAINING_ROLE is not set: TRAINER or PSERVER was expected, because "
      "PADDLE_PSERVERS_IP_PORT_LIST is '10.0.0.1:6170,10.0.0.2:6170'; leave both out to train "
      "in one process");
  EXPECT_THAT(ErrorOf({{"PADDLE_PORT", "6170"}}, "POD_IP", "10.0.0.1"),
              HasSubstr("because PADDLE_PORT is '6170'"));
}

TEST(RoleEnvironmentTest, AServerMayListenAtAUnixSocket) {
  Role role{.kind = Role::Kind::kServer, .index = 1, .servers = {"unix:/tmp/a", "unix:/tmp/b"}};
  EXPECT_EQ(*RoleFrom(EnvironmentOfRole(role)), role);
}

TEST(RoleEnvironmentTest, TrainersAndServersAreTold) {
  const Role trainer = *RoleFrom(TrainerVariables());
  EXPECT_TRUE(trainer.is_trainer());
  EXPECT_EQ(trainer.index, 2);
  EXPECT_EQ(trainer.trainers, 3);
  EXPECT_EQ(trainer.ToString(), "trainer 2 of 3");
  const Role server = *RoleFrom(ServerVariables());
  EXPECT_TRUE(server.is_server());
  EXPECT_EQ(server.index, 1);
  EXPECT_EQ(server.ToString(), "server 1 of 2 (10.0.0.2:6170)");
  Variables threads = TrainerVariables();
  threads["CPU_NUM"] = "4";
  EXPECT_EQ(RoleFrom(threads)->threads, 4);
}

TEST(RoleEnvironmentTest, WhatALauncherSetsIsWhatAProcessReads) {
  for (const Variables& variables : {TrainerVariables(), ServerVariables()}) {
    const Role role = *RoleFrom(variables);
    EXPECT_TRUE(CheckRole(role).ok());
    EXPECT_EQ(*RoleFrom(EnvironmentOfRole(role)), role);
  }
}

TEST(RoleEnvironmentTest, EveryContradictionNamesTheVariableTheValueAndWhatWasExpected) {
  EXPECT_EQ(ErrorOf(TrainerVariables(), "TRAINING_ROLE", "WORKER"),
            "TRAINING_ROLE is 'WORKER': TRAINER or PSERVER was expected");
  EXPECT_EQ(ErrorOf(TrainerVariables(), "PADDLE_TRAINERS_NUM", ""),
            "PADDLE_TRAINERS_NUM is not set: a number of trainers of at least 1 was expected");
  EXPECT_THAT(ErrorOf(TrainerVariables(), "PADDLE_TRAINERS_NUM", "0"), HasSubstr("is '0'"));
  EXPECT_THAT(ErrorOf(TrainerVariables(), "PADDLE_TRAINER_ID", "3"),
              HasSubstr("PADDLE_TRAINER_ID is 3: a number below PADDLE_TRAINERS_NUM, 3"));
  EXPECT_THAT(ErrorOf(TrainerVariables(), "PADDLE_TRAINER_ID", "x"), HasSubstr("'x'"));
  EXPECT_THAT(ErrorOf(TrainerVariables(), "PADDLE_PSERVERS_IP_PORT_LIST", "a:1,a"),
              HasSubstr("address \"a\": expected host:port"));
  EXPECT_THAT(ErrorOf(TrainerVariables(), "PADDLE_PSERVERS_IP_PORT_LIST", "a:1,a:1"),
              HasSubstr("a:1 is listed twice"));
  EXPECT_THAT(ErrorOf(TrainerVariables(), "PADDLE_PSERVERS_IP_PORT_LIST", "a:70000"),
              HasSubstr("address \"a:70000\""));
  EXPECT_THAT(ErrorOf(TrainerVariables(), "CPU_NUM", "0"), HasSubstr("CPU_NUM is '0'"));
  EXPECT_THAT(ErrorOf(ServerVariables(), "PADDLE_PORT", "6171"),
              HasSubstr("10.0.0.2:6171 was expected to be in PADDLE_PSERVERS_IP_PORT_LIST"));
  EXPECT_THAT(ErrorOf(ServerVariables(), "POD_IP", ""), HasSubstr("POD_IP is not set"));
}

}  // namespace
}  // namespace flotilla
