#include "flotilla/rpc/write_lanes.h"

#include <gtest/gtest.h>

#include <vector>

namespace flotilla {
namespace {

TEST(WriteLanesTest, InALaneOneWritesAndTheOthersFollowInTheirOrder) {
  WriteLanes<int> lanes;
  std::vector<int> started;
  const auto enter = [&](int lane, int name) {
    return lanes.Enter(lane, [&started, name] { started.push_back(name); });
  };
  EXPECT_TRUE(enter(0, 1));
  EXPECT_FALSE(enter(0, 2));
  EXPECT_FALSE(enter(0, 3));
  EXPECT_TRUE(enter(1, 4)) << "another lane";
  EXPECT_TRUE(started.empty());
  lanes.Leave(0);
  EXPECT_EQ(started, (std::vector<int>{2}));
  EXPECT_FALSE(enter(0, 5));
  lanes.Leave(0);
  lanes.Leave(0);
  EXPECT_EQ(started, (std::vector<int>{2, 3, 5}));
  lanes.Leave(0);
  EXPECT_TRUE(enter(0, 6)) << "all have left";
}

}  // namespace
}  // namespace flotilla
