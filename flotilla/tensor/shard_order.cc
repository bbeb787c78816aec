#include "flotilla/tensor/shard_order.h"

#include <numeric>

#include "flotilla/base/status.h"
#include "flotilla/tensor/shard.h"

namespace flotilla {

ShardOrder OrderByShard(std::span<const uint64_t> ids) {
  FL_CHECK(ids.size() < UINT32_MAX);
  ShardOrder order;
  order.places.resize(ids.size());
  order.begins.resize(kVirtualShards + 1);
  uint32_t last = 0;
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto shard = static_cast<uint32_t>(VirtualShard(ids[i]));
    order.in_order = order.in_order && shard >= last;
    last = shard;
    order.places[i] = shard;
    ++order.begins[shard + 1];
  }
  std::partial_sum(order.begins.begin(), order.begins.end(), order.begins.begin());
  std::vector<uint32_t> next(order.begins.begin(), order.begins.end() - 1);
  for (uint32_t& place : order.places) place = next[place]++;
  return order;
}

}  // namespace flotilla
