#include "flotilla/tensor/shard_order.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "flotilla/base/rng.h"
#include "flotilla/tensor/shard.h"

namespace flotilla {
namespace {

TEST(ShardOrderTest, EqualsAStableSortByShard) {
  for (const size_t count : {0, 1, 2, 7, 5000}) {
    std::vector<uint64_t> ids(count), ordered(count);
    for (size_t i = 0; i < count; ++i) ids[i] = RngKey(1).Bits(i);
    const ShardOrder order = OrderByShard(ids);
    for (size_t i = 0; i < count; ++i) ordered[order.places[i]] = ids[i];
    std::vector<uint64_t> expected = ids;
    const auto before = [](uint64_t a, uint64_t b) { return VirtualShard(a) < VirtualShard(b); };
    std::stable_sort(expected.begin(), expected.end(), before);
    EXPECT_EQ(ordered, expected);
    EXPECT_EQ(order.in_order, ids == expected);
    ASSERT_EQ(order.begins.size(), kVirtualShards + 1u);
    EXPECT_EQ(order.begins.back(), count);
    for (int shard = 0; shard < kVirtualShards; ++shard) {
      for (uint32_t at = order.begins[shard]; at < order.begins[shard + 1]; ++at) {
        EXPECT_EQ(VirtualShard(ordered[at]), shard);
      }
    }
    const ShardOrder again = OrderByShard(expected);
    EXPECT_TRUE(again.in_order);
    EXPECT_TRUE(std::is_sorted(again.places.begin(), again.places.end()));
  }
}

}  // namespace
}  // namespace flotilla
