#include "flotilla/table/shard_rows.h"

#include <gtest/gtest.h>

#include <vector>

namespace flotilla {
namespace {

// Adds `count` rows, allocating runs from `next`; returns their numbers.
std::vector<uint32_t> Add(uint32_t count, uint32_t* next, ShardRows* rows) {
  std::vector<uint32_t> added;
  while (added.size() < count) {
    if (rows->full()) {
      const uint32_t run = rows->next_run();
      rows->AddRun(*next);
      *next += run + 1000;  // other shards take rows in between
    }
    added.push_back(rows->next());
    rows->Commit();
  }
  return added;
}

std::vector<uint32_t> List(const ShardRows& rows, uint32_t count) {
  std::vector<uint32_t> list;
  rows.ForEach(count, [&](uint32_t row) { list.push_back(row); });
  return list;
}

TEST(ShardRowsTest, ForEachGivesAnyPrefixInOrder) {
  for (const uint32_t max_run : {1u, 64u}) {
    ShardRows rows(max_run);
    uint32_t next = 5;
    const std::vector<uint32_t> added = Add(300, &next, &rows);
    EXPECT_EQ(rows.size(), 300u);
    for (uint32_t count : {0u, 1u, 4u, 5u, 63u, 64u, 65u, 129u, 300u}) {
      EXPECT_EQ(List(rows, count), std::vector<uint32_t>(added.begin(), added.begin() + count));
    }
  }
}

TEST(ShardRowsTest, RunsGrowWithTheShardUpToTheirLimit) {
  ShardRows rows(64);
  std::vector<uint32_t> runs;
  uint32_t next = 0;
  while (runs.size() < 8) {
    runs.push_back(rows.next_run());
    Add(runs.back(), &next, &rows);
  }
  EXPECT_EQ(runs, (std::vector<uint32_t>{4, 4, 8, 16, 32, 64, 64, 64}));
}

TEST(ShardRowsTest, ARunIsConsecutive) {
  ShardRows rows(64);
  uint32_t next = 100;
  EXPECT_EQ(Add(5, &next, &rows), (std::vector<uint32_t>{100, 101, 102, 103, 1104}));
}

}  // namespace
}  // namespace flotilla
