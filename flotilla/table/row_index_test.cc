#include "flotilla/table/row_index.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <vector>

#include "flotilla/base/rng.h"

namespace flotilla {
namespace {

std::unique_ptr<RowIndex> MustMakeIndex() {
  auto index = RowIndex::Make(true);
  EXPECT_TRUE(index.ok()) << index.status();
  return *std::move(index);
}

void Insert(uint64_t mixed, uint32_t row, RowIndex* index) {
  while (!index->Reserve(mixed)) ASSERT_TRUE(index->Grow(mixed).ok());
  index->Insert(mixed, row);
}

uint32_t FindOnly(const RowIndex& index, uint64_t mixed, uint32_t row) {
  return index.Find(mixed, [row](uint32_t candidate) { return candidate == row; });
}

TEST(RowIndexTest, EqualsAMapWhileItGrows) {
  auto index = MustMakeIndex();
  std::map<uint64_t, uint32_t> expected;
  const RngKey key(3);
  for (uint32_t row = 0; row < 50000; ++row) {
    const uint64_t mixed = key.Bits(row);
    Insert(mixed, row, index.get());
    expected[mixed] = row;
    if (row % 997 != 0) continue;
    for (const auto& [some, its_row] : expected)
      ASSERT_EQ(FindOnly(*index, some, its_row), its_row);
  }
  for (const auto& [mixed, row] : expected) {
    EXPECT_EQ(FindOnly(*index, mixed, row), row);
    EXPECT_EQ(index->Probe(mixed), row);
  }
  for (uint64_t i = 0; i < 1000; ++i) EXPECT_EQ(index->Probe(key.Bits(1'000'000 + i)), kNoRow);
}

TEST(RowIndexTest, EqualTagsAreToldApartByTheCaller) {
  auto index = MustMakeIndex();
  // The uppermost and the lowest bits are equal: one part, one tag, one home line, even after
  // growing.
  const auto mixed = [](uint64_t row) { return 0x123400009abcdef0ull | row << 32; };
  for (uint32_t row = 0; row < 100; ++row) Insert(mixed(row), row, index.get());
  for (uint32_t row = 0; row < 100; ++row) EXPECT_EQ(FindOnly(*index, mixed(row), row), row);
  EXPECT_LT(index->Probe(mixed(0)), 100u);
}

TEST(RowIndexTest, TheLastLineRunsOverIntoTheFirst) {
  auto index = MustMakeIndex();
  const uint64_t top_of_part = ~0ull >> RowIndex::kPartBits;
  for (uint32_t row = 0; row < 20; ++row) Insert(top_of_part - row, row, index.get());
  for (uint32_t row = 0; row < 20; ++row) {
    EXPECT_EQ(FindOnly(*index, top_of_part - row, row), row);
    EXPECT_LT(index->Probe(top_of_part - row), 20u);
  }
}

// If they clustered in few lines, every insertion would scan all previous ones, which takes
// minutes.
TEST(RowIndexTest, RowsOfOneVirtualShardSpreadOverTheirPart) {
  auto index = MustMakeIndex();
  const auto mixed = [](uint32_t row) { return uint64_t{77} << 55 | RngKey(5).Bits(row) >> 9; };
  for (uint32_t row = 0; row < 300'000; ++row) Insert(mixed(row), row, index.get());
  for (uint32_t row = 0; row < 300'000; ++row) ASSERT_EQ(FindOnly(*index, mixed(row), row), row);
}

TEST(RowIndexTest, TagZeroIsNotAnEmptySlot) {
  auto index = MustMakeIndex();
  EXPECT_EQ(index->Probe(0), kNoRow);
  Insert(0, 0, index.get());
  EXPECT_EQ(index->Probe(0), 0u);
}

TEST(RowIndexTest, MemoryIsBoundedAtEverySize) {
  auto index = MustMakeIndex();
  const RngKey key(4);
  double most = 0;
  for (uint32_t row = 0; row < 400000; ++row) {
    Insert(key.Bits(row), row, index.get());
    if (row < 50000) continue;
    most = std::max(most, static_cast<double>(index->memory_bytes()) / (row + 1));
  }
  // 8 bytes per slot, never less than 7/16 full (and parts differ a little).
  EXPECT_LE(most, 8 / 0.4375 * 1.03);
}

}  // namespace
}  // namespace flotilla
