#include "flotilla/server/dirty_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "flotilla/base/rng.h"

namespace flotilla {
namespace {

TEST(DirtySetTest, OthersSeeWhatATrainerChangedAndItDoesNot) {
  DirtySet dirty(3);
  bool more = true;
  dirty.Mark(0, std::vector<uint32_t>{1, 200}, std::vector<uint64_t>{11, 999});
  EXPECT_TRUE(dirty.Take(0, 10, &more).empty());
  EXPECT_FALSE(more);
  EXPECT_EQ(dirty.Take(1, 10, &more), (std::vector<uint64_t>{11, 999}));
  EXPECT_EQ(dirty.Take(2, 10, &more), (std::vector<uint64_t>{11, 999}));
}

TEST(DirtySetTest, WhatWasTakenComesAgainUntilItIsConfirmed) {
  DirtySet dirty(2);
  bool more = false;
  dirty.Mark(0, std::vector<uint32_t>{5}, std::vector<uint64_t>{50});
  EXPECT_EQ(dirty.Take(1, 10, &more).size(), 1u);
  dirty.Mark(0, std::vector<uint32_t>{6}, std::vector<uint64_t>{60});
  EXPECT_EQ(dirty.Take(1, 10, &more), std::vector<uint64_t>{50});
  EXPECT_TRUE(more);
  dirty.Confirm(1);
  EXPECT_EQ(dirty.Take(1, 10, &more), std::vector<uint64_t>{60});
  dirty.Confirm(1);
  EXPECT_TRUE(dirty.Take(1, 10, &more).empty());
}

TEST(DirtySetTest, AChangeAfterTakingIsNotMissed) {
  DirtySet dirty(2);
  bool more = false;
  dirty.Mark(0, std::vector<uint32_t>{5}, std::vector<uint64_t>{50});
  dirty.Take(1, 10, &more);
  dirty.Mark(0, std::vector<uint32_t>{5}, std::vector<uint64_t>{50});
  dirty.Confirm(1);
  EXPECT_EQ(dirty.Take(1, 10, &more), std::vector<uint64_t>{50});
}

TEST(DirtySetTest, AgreesWithPlainSets) {
  constexpr int kTrainers = 4;
  DirtySet dirty(kTrainers);
  std::vector<std::set<uint64_t>> expected(kTrainers);
  const RngKey key(1);
  for (uint64_t step = 0; step < 500; ++step) {
    const int trainer = static_cast<int>(key.With(step).Below(0, kTrainers));
    if (key.With(step).Below(1, 3) > 0) {
      std::vector<uint32_t> items;
      std::vector<uint64_t> keys;
      for (uint64_t i = 0; i < 20; ++i) {
        items.push_back(static_cast<uint32_t>(key.With(step).Below(10 + i, 3000)));
        keys.push_back(items.back() * 7ull);
      }
      dirty.Mark(trainer, items, keys);
      for (int t = 0; t < kTrainers; ++t) {
        if (t != trainer) expected[t].insert(keys.begin(), keys.end());
      }
      continue;
    }
    std::set<uint64_t> taken;
    for (bool more = true; more;) {
      dirty.Confirm(trainer);
      const auto keys = dirty.Take(trainer, 64, &more);
      EXPECT_LE(keys.size(), 64u);
      taken.insert(keys.begin(), keys.end());
    }
    dirty.Confirm(trainer);
    EXPECT_EQ(taken, expected[trainer]);
    expected[trainer].clear();
  }
  // A bit per trainer and item, and 8 bytes per item.
  EXPECT_LT(dirty.memory_bytes(), 3000u * 8 * 3);
}

}  // namespace
}  // namespace flotilla
