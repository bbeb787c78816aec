#include "flotilla/base/share_pool.h"

#include <gtest/gtest.h>

#include <set>

namespace flotilla {
namespace {

using Shares = std::vector<int>;

TEST(SharePoolTest, NothingIsFreeBeforeTheFirstDeal) {
  SharePool pool;
  EXPECT_EQ(pool.Take(Shares{0}, true), std::nullopt);
  EXPECT_EQ(pool.free(), 0);
}

TEST(SharePoolTest, GivesWantedSharesFirstAndEachOnce) {
  SharePool pool;
  pool.Deal(4, 2, {});
  EXPECT_EQ(pool.Take(Shares{3, 1}, false), 3);
  EXPECT_EQ(pool.Take(Shares{3, 1}, false), 1);
  EXPECT_EQ(pool.Take(Shares{3, 1}, false), std::nullopt);
  EXPECT_EQ(pool.free(), 2);
  EXPECT_EQ(pool.Take(Shares{3, 1}, true), 0);
  EXPECT_EQ(pool.Take({}, true), 2);
  EXPECT_EQ(pool.Take({}, true), std::nullopt);
}

TEST(SharePoolTest, OthersTakeFromTheMemberThatHasTheMostLeft) {
  SharePool pool;
  pool.Deal(9, 3, Shares{0, 3, 1});  // left: 6 | 4, 7 | 2, 5, 8
  EXPECT_EQ(pool.Take({}, true), 2);
  EXPECT_EQ(pool.Take({}, true), 4) << "both have two: the lower member";
  EXPECT_EQ(pool.Take({}, true), 5);
  std::set<int> rest;
  for (int i = 0; i < 3; ++i) rest.insert(pool.Take({}, true).value_or(-1));
  EXPECT_EQ(rest, (std::set<int>{6, 7, 8}));
  EXPECT_EQ(pool.Take({}, true), std::nullopt);
}

TEST(SharePoolTest, NumbersOutOfRangeAreNotFree) {
  SharePool pool;
  pool.Deal(2, 3, Shares{1, 1});  // a share that is named twice is taken once
  EXPECT_EQ(pool.free(), 1);
  EXPECT_EQ(pool.Take(Shares{-1, 2, 1 << 30}, false), std::nullopt);
  EXPECT_EQ(pool.Take(Shares{-1, 2, 1 << 30}, true), 0);
}

TEST(SharePoolTest, ADealForgetsTheOneBefore) {
  SharePool pool;
  pool.Deal(3, 1, {});
  pool.Take({}, true);
  pool.Deal(2, 1, {});
  EXPECT_EQ(pool.free(), 2);
  EXPECT_EQ(pool.Take(Shares{2}, true), 0);
}

}  // namespace
}  // namespace flotilla
