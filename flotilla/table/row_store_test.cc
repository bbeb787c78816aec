#include "flotilla/table/row_store.h"

#include <gtest/gtest.h>

#include <cstring>
#include <set>

namespace flotilla {
namespace {

TEST(RowLayoutTest, TenWeightsWithTwoStatesAreTwoCacheLines) {
  const RowLayout layout{.dim = 10, .states = 2, .keep_meta = false};
  EXPECT_EQ(layout.stride(), 128u);
}

TEST(RowLayoutTest, StridesAreRoundedToEightBytesAndHoldTheMeta) {
  EXPECT_EQ((RowLayout{.dim = 1, .states = 0, .keep_meta = false}).stride(), 16u);
  const RowLayout layout{.dim = 3, .states = 1, .keep_meta = true};
  EXPECT_EQ(layout.meta_offset(), 32u);
  EXPECT_EQ(layout.stride(), 40u);
  EXPECT_EQ((RowLayout{.dim = 3, .states = 0, .keep_meta = true}).stride(), 32u);
}

TEST(RowLayoutTest, LongRowsBeginOnACacheLine) {
  EXPECT_EQ((RowLayout{.dim = 63, .states = 0, .keep_meta = false}).stride(), 264u);
  const RowLayout layout{.dim = 100, .states = 0, .keep_meta = false};
  EXPECT_EQ(layout.stride(), 448u);
  for (const int64_t fixed : {0, 10}) {
    auto store = *RowStore::Make(layout, fixed, {});
    if (fixed == 0) {
      ASSERT_TRUE(store->Take(10).ok());
    }
    for (uint32_t row = 0; row < 10; ++row) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(WeightsOf(store->block(row))) % 64, 0u);
    }
    // The last block is completely accessible.
    std::memset(store->block(9), 1, layout.stride());
  }
}

TEST(RowStoreTest, RowsAreZeroDistinctAndDoNotMove) {
  const RowLayout layout{.dim = 5, .states = 0, .keep_meta = false};
  auto store = *RowStore::Make(layout, 0, {});
  EXPECT_EQ(store->limit(), 0u);
  std::set<std::byte*> blocks;
  uint32_t rows = 0;
  // Beyond the first chunk, with a run across the boundary of two chunks.
  while (rows < RowStore::kChunkRows + 100) {
    const auto first = store->Take(63);
    ASSERT_TRUE(first.ok());
    EXPECT_EQ(*first, rows);
    rows += 63;
  }
  EXPECT_EQ(store->limit(), rows);
  std::byte* before = store->block(3);
  for (uint32_t row : {0u, 1u, RowStore::kChunkRows - 1, RowStore::kChunkRows, rows - 1}) {
    std::byte* block = store->block(row);
    EXPECT_TRUE(blocks.insert(block).second);
    for (size_t i = 0; i < layout.stride(); ++i) EXPECT_EQ(block[i], std::byte{0});
    std::memset(block, 1, layout.stride());
  }
  EXPECT_EQ(store->block(3), before);
  EXPECT_EQ(store->block(1) - store->block(0), static_cast<ptrdiff_t>(layout.stride()));
}

TEST(RowStoreTest, FixedRowsExistAtOnce) {
  auto store =
      *RowStore::Make({.dim = 1, .states = 0, .keep_meta = false}, RowStore::kChunkRows + 1, {});
  EXPECT_EQ(store->limit(), RowStore::kChunkRows + 1);
  EXPECT_EQ(store->block(RowStore::kChunkRows)[0], std::byte{0});
  EXPECT_EQ(store->block(RowStore::kChunkRows) - store->block(0), 16 * RowStore::kChunkRows)
      << "one array";
}

TEST(RowStoreTest, MemoryFollowsTheRowsInUse) {
  for (const bool huge_pages : {false, true}) {
    auto store = *RowStore::Make({.dim = 10, .states = 2, .keep_meta = false}, 0,
                                 {.huge_pages = huge_pages});
    const size_t empty = store->memory_bytes();
    ASSERT_TRUE(store->Take(100000).ok());
    const size_t page = huge_pages ? kHugePageBytes : 4096;
    EXPECT_GE(store->memory_bytes() - empty, 100000u * 128);
    EXPECT_LE(store->memory_bytes() - empty, 100000u * 128 + page);
  }
}

TEST(RowStoreTest, MoreRowsThanNumbersIsAnError) {
  auto store = *RowStore::Make({.dim = 1, .states = 0, .keep_meta = false}, 0, {});
  ASSERT_TRUE(store->Take(10).ok());
  const auto too_many = store->Take(RowStore::kMaxRows - 9);
  EXPECT_EQ(too_many.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(store->limit(), 10u);
}

}  // namespace
}  // namespace flotilla
