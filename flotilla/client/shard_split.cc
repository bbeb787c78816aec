#include "flotilla/client/shard_split.h"

#include <numeric>

#include "flotilla/base/status.h"
#include "flotilla/tensor/shard.h"

namespace flotilla {

ShardSplit SplitByServer(std::span<const uint64_t> ids, int servers) {
  FL_CHECK(servers >= 1 && servers <= kVirtualShards && ids.size() < UINT32_MAX);
  ShardSplit split;
  split.positions.resize(ids.size());
  split.begins.resize(static_cast<size_t>(servers) + 1);
  if (servers == 1) {
    std::iota(split.positions.begin(), split.positions.end(), 0u);
    split.begins[1] = static_cast<uint32_t>(ids.size());
    return split;
  }
  std::vector<uint16_t> owner(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    owner[i] = static_cast<uint16_t>(ServerOfShard(VirtualShard(ids[i]), servers));
    ++split.begins[owner[i] + 1];
  }
  std::partial_sum(split.begins.begin(), split.begins.end(), split.begins.begin());
  std::vector<uint32_t> next(split.begins.begin(), split.begins.end() - 1);
  for (size_t i = 0; i < ids.size(); ++i) {
    split.positions[next[owner[i]]++] = static_cast<uint32_t>(i);
  }
  return split;
}

}  // namespace flotilla
