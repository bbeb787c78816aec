#include "flotilla/graph/ops/broadcast.h"

#include <gtest/gtest.h>

#include <vector>

#include "flotilla/base/rng.h"

namespace flotilla {
namespace {

// Reference computation of the offset of an operand for element `index` of the full shape.
int64_t NaiveOffset(const std::vector<int64_t>& full, const std::vector<int64_t>& operand,
                    int64_t index) {
  int64_t offset = 0, distance = 1;
  for (size_t back = 1; back <= full.size(); ++back) {
    const int64_t coordinate = index % full[full.size() - back];
    index /= full[full.size() - back];
    if (back > operand.size()) continue;
    const int64_t dim = operand[operand.size() - back];
    if (dim != 1) offset += coordinate * distance;
    distance *= dim;
  }
  return offset;
}

TEST(BroadcastTest, WalkVisitsEveryElementWithTheOffsetsOfANaiveLoop) {
  for (uint64_t trial = 0; trial < 300; ++trial) {
    const RngKey key = RngKey(7).With(trial);
    const size_t rank = key.Below(0, 5);
    std::vector<int64_t> full, a, b;
    for (size_t d = 0; d < rank; ++d) {
      full.push_back(1 + static_cast<int64_t>(key.Below(10 + d, 3)));
      a.push_back(key.Below(20 + d, 2) == 0 ? 1 : full[d]);
      b.push_back(key.Below(30 + d, 2) == 0 ? 1 : full[d]);
    }
    a.erase(a.begin(), a.begin() + static_cast<int64_t>(key.Below(1, rank + 1)));
    const Walk walk = MakeWalk(full, a, b);
    int64_t next = 0;
    ForEachRun(walk, [&](int64_t at, int64_t a_at, int64_t b_at) {
      ASSERT_EQ(at, next);
      for (int64_t i = 0; i < walk.run(); ++i, ++next) {
        ASSERT_EQ(a_at + (walk.a_moves() ? i : 0), NaiveOffset(full, a, next)) << "trial " << trial;
        ASSERT_EQ(b_at + (walk.b_moves() ? i : 0), NaiveOffset(full, b, next)) << "trial " << trial;
      }
    });
    int64_t size = 1;
    for (int64_t dim : full) size *= dim;
    EXPECT_EQ(next, size);
  }
}

TEST(BroadcastTest, DimensionsThatMoveTogetherBecomeOneRun) {
  const std::vector<int64_t> full{4, 3, 5}, tail{3, 5};
  const Walk walk = MakeWalk(full, full, tail);
  EXPECT_EQ(walk.rank, 2);
  EXPECT_EQ(walk.run(), 15);
}

TEST(BroadcastTest, AnEmptyDimensionHasNoRuns) {
  const std::vector<int64_t> full{0, 3}, one{1, 3};
  int runs = 0;
  ForEachRun(MakeWalk(full, full, one), [&](int64_t, int64_t, int64_t) { ++runs; });
  EXPECT_EQ(runs, 0);
}

}  // namespace
}  // namespace flotilla
