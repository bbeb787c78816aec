#include "flotilla/client/shard_split.h"

#include <cstring>
#include <numeric>

#include "flotilla/base/status.h"
#include "flotilla/rpc/codec.h"
#include "flotilla/tensor/shard.h"
#include "flotilla/tensor/shard_order.h"

namespace flotilla {

ShardSplit SplitByServer(std::span<const uint64_t> ids, int servers) {
  FL_CHECK(servers >= 1 && servers <= kVirtualShards && ids.size() < UINT32_MAX);
  ShardSplit split;
  split.positions.resize(ids.size());
  if (servers == 1) {
    std::iota(split.positions.begin(), split.positions.end(), 0u);
    split.begins = {0, static_cast<uint32_t>(ids.size())};
    return split;
  }
  const ShardOrder order = OrderByShard(ids);
  for (size_t i = 0; i < ids.size(); ++i) {
    split.positions[order.places[i]] = static_cast<uint32_t>(i);
  }
  for (int s = 0; s < servers; ++s) {
    split.begins.push_back(order.begins[ShardsOf(s, servers).first]);
  }
  split.begins.push_back(order.begins[kVirtualShards]);
  return split;
}

void AddIdsAt(const SparseRows& rows, std::span<const uint32_t> positions, TensorWriter* tensors) {
  std::vector<uint64_t> ids(positions.size());
  for (size_t i = 0; i < positions.size(); ++i) ids[i] = rows.ids[positions[i]];
  tensors->AddOwned(std::move(ids));
}

void AddValuesAt(const SparseRows& rows, std::span<const uint32_t> positions,
                 TensorWriter* tensors) {
  const auto dim = static_cast<size_t>(rows.dim);
  AlignedVector<float> values(positions.size() * dim);
  for (size_t i = 0; i < positions.size(); ++i) {
    std::memcpy(values.data() + i * dim, rows.row(positions[i]), dim * sizeof(float));
  }
  tensors->AddOwned(std::move(values));
}

}  // namespace flotilla
