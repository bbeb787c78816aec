#include "flotilla/client/shard_split.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "flotilla/base/rng.h"
#include "flotilla/tensor/shard.h"

namespace flotilla {
namespace {

TEST(ShardSplitTest, EveryPositionIsWithTheOwnerOfItsIdInTheOrderOfShards) {
  for (const int servers : {1, 2, 3, 5, 512}) {
    for (const size_t count : {0, 1, 7, 1000}) {
      std::vector<uint64_t> ids(count);
      for (size_t i = 0; i < count; ++i) ids[i] = RngKey(1).Bits(i);
      const ShardSplit split = SplitByServer(ids, servers);
      EXPECT_EQ(split.positions.size(), count);
      size_t seen = 0;
      for (int s = 0; s < servers; ++s) {
        std::vector<uint32_t> expected;
        for (size_t i = 0; i < count; ++i) {
          if (ServerOfShard(VirtualShard(ids[i]), servers) == s) {
            expected.push_back(static_cast<uint32_t>(i));
          }
        }
        if (servers > 1) {
          std::stable_sort(expected.begin(), expected.end(), [&](uint32_t a, uint32_t b) {
            return VirtualShard(ids[a]) < VirtualShard(ids[b]);
          });
        }
        const auto mine = split.of(s);
        EXPECT_EQ(std::vector<uint32_t>(mine.begin(), mine.end()), expected);
        seen += mine.size();
      }
      EXPECT_EQ(seen, count);
    }
  }
}

}  // namespace
}  // namespace flotilla
