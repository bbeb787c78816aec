#include "flotilla/fleet/role_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flotilla {
namespace {

using ::testing::HasSubstr;

const Role kNobody;

RoleFlags FlagsOfTrainer() {
  return {.role = "trainer", .index = 1, .servers = {"a:1", "b:1"}, .trainers = 3};
}

std::string RefusalOf(const RoleFlags& flags, const Role& from_environment = kNobody) {
  const auto role = ChooseRole(flags, from_environment);
  EXPECT_FALSE(role.ok());
  return std::string(Message(role.status()));
}

TEST(RoleFlagsTest, WithoutFlagsTheEnvironmentSaysIt) {
  EXPECT_EQ(*ChooseRole({}, kNobody), kNobody);
  const Role trainer{.kind = Role::Kind::kTrainer, .servers = {"a:1"}};
  EXPECT_EQ(*ChooseRole({}, trainer), trainer);
}

TEST(RoleFlagsTest, FlagsMakeServersAndTrainers) {
  RoleFlags flags = FlagsOfTrainer();
  EXPECT_EQ(ChooseRole(flags, kNobody)->ToString(), "trainer 1 of 3");
  flags.role = "server";
  EXPECT_EQ(ChooseRole(flags, kNobody)->ToString(), "server 1 of 2 (b:1)");
}

TEST(RoleFlagsTest, ContradictionsAreNamed) {
  RoleFlags flags = FlagsOfTrainer();
  flags.index = 3;
  EXPECT_THAT(RefusalOf(flags), HasSubstr("--role trainer: index 3 is not below"));
  flags = FlagsOfTrainer();
  flags.servers = {"a:1", "a:1"};
  EXPECT_THAT(RefusalOf(flags), HasSubstr("server a:1 is listed twice"));
  flags = FlagsOfTrainer();
  flags.trainers.reset();
  EXPECT_THAT(RefusalOf(flags), HasSubstr("--role trainer needs --role_index"));
  flags = FlagsOfTrainer();
  flags.role.reset();
  EXPECT_THAT(RefusalOf(flags), HasSubstr("need --role"));
  const Role server{.kind = Role::Kind::kServer, .servers = {"a:1"}};
  EXPECT_THAT(RefusalOf(FlagsOfTrainer(), server),
              HasSubstr("TRAINING_ROLE makes this process a server: leave one out"));
}

}  // namespace
}  // namespace flotilla
