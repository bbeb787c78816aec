#include "flotilla/communicator/group.h"

#include <gtest/gtest.h>

#include "flotilla/communicator/mode_testing.h"

namespace flotilla {
namespace {

// The same calls in a group of any size.
Status UseGroup(Group& group) {
  const int me = group.trainer();
  const int all = group.trainers();
  FL_RETURN_IF_ERROR(group.Barrier("start"));
  std::vector<double> values = {1, static_cast<double>(me)};
  FL_RETURN_IF_ERROR(group.Sum("figures", values));
  EXPECT_EQ(values, (std::vector<double>{1.0 * all, all * (all - 1) / 2.0}));
  FL_ASSIGN_OR_RETURN(const auto gathered, group.Gather("names", "trainer" + std::to_string(me)));
  EXPECT_EQ(gathered.size(), static_cast<size_t>(all));
  for (int t = 0; t < all; ++t) EXPECT_EQ(gathered[t], "trainer" + std::to_string(t));
  FL_ASSIGN_OR_RETURN(const std::string told, group.Broadcast("word", std::to_string(me), all - 1));
  EXPECT_EQ(told, std::to_string(all - 1));
  std::vector<std::string> outgoing;
  for (int t = 0; t < all; ++t) outgoing.push_back(fmt::format("{} to {}", me, t));
  FL_ASSIGN_OR_RETURN(const auto incoming, group.Exchange("rows", outgoing));
  EXPECT_EQ(incoming.size(), static_cast<size_t>(all));
  for (int t = 0; t < all; ++t) EXPECT_EQ(incoming[t], fmt::format("{} to {}", t, me));
  return absl::OkStatus();
}

TEST(GroupTest, OneProcessIsAGroupOfOne) {
  const auto group = MakeSoloGroup();
  ASSERT_OK(UseGroup(*group));
}

TEST(GroupTest, TrainersMeetThroughTheirServers) {
  InProcessCluster cluster(CountingSpec(), {.servers = 2, .trainers = 3});
  ASSERT_OK(cluster.RunTrainers([](int, PsClient& client) {
    const auto group = MakeClientGroup(&client);
    return UseGroup(*group);
  }));
}

}  // namespace
}  // namespace flotilla
