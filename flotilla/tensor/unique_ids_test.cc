#include "flotilla/tensor/unique_ids.h"

#include <gtest/gtest.h>

#include <map>

#include "flotilla/base/rng.h"

namespace flotilla {
namespace {

TEST(UniqueIdsTest, EqualsAMapOnRandomIds) {
  const RngKey key(11);
  UniqueIds unique;
  // Fewer after many, and the other way round: the table is sized by the last batch.
  for (size_t n : {0, 1, 2, 17, 1000, 5000, 17, 1, 5000, 0}) {
    std::vector<uint64_t> ids(n);
    for (size_t i = 0; i < n; ++i) ids[i] = key.Below(i, 1 + n / 2) * 0x123456789abcdefull;
    std::vector<uint32_t> positions(n);
    unique.Reset(n);
    unique.Add(std::span(ids).first(n / 3), std::span(positions).first(n / 3));
    unique.Add(std::span(ids).subspan(n / 3), std::span(positions).subspan(n / 3));
    std::map<uint64_t, uint32_t> expected;
    for (size_t i = 0; i < n; ++i) {
      const auto index = static_cast<uint32_t>(expected.size());
      EXPECT_EQ(positions[i], expected.emplace(ids[i], index).first->second);
      EXPECT_EQ(unique.ids()[positions[i]], ids[i]);
    }
    EXPECT_EQ(unique.ids().size(), expected.size());
  }
}

TEST(UniqueIdsTest, FindsIdsThatDifferInAnyBitsOnly) {
  UniqueIds unique;
  for (int shift = 0; shift < 64; ++shift) {
    const uint64_t n = shift > 54 ? uint64_t{1} << (64 - shift) : 1000;
    std::vector<uint64_t> ids;
    std::vector<uint32_t> expected;
    for (uint64_t i = 0; i < 2 * n; ++i) {
      ids.push_back(i % n << shift);
      expected.push_back(static_cast<uint32_t>(i % n));
    }
    std::vector<uint32_t> positions(ids.size());
    unique.Reset(ids.size());
    unique.Add(ids, positions);
    EXPECT_EQ(positions, expected) << shift;
  }
}

TEST(UniqueIdsTest, ZeroAndTheLargestIdAreOrdinaryIds) {
  UniqueIds unique;
  const std::vector<uint64_t> ids = {0, ~0ull, 0};
  std::vector<uint32_t> positions(3);
  unique.Reset(3);
  unique.Add(ids, positions);
  EXPECT_EQ(positions, (std::vector<uint32_t>{0, 1, 0}));
}

}  // namespace
}  // namespace flotilla
