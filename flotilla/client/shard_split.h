// Splits the rows of a table by the servers that own them, once per pull or push.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flotilla/rpc/codec_fwd.h"
#include "flotilla/tensor/sparse_rows.h"

namespace flotilla {

// positions holds the numbers [0, ids.size()) grouped by server; those of server s are
// positions[begins[s]] .. positions[begins[s + 1] - 1]. With several servers they are in the order
// of the virtual shards of their ids (tensor/shard_order.h), so that a server need not reorder the
// rows; with one they are ascending, so that rows can be sent as they are.
struct ShardSplit {
  std::vector<uint32_t> positions;
  std::vector<uint32_t> begins;  // servers + 1 entries

  std::span<const uint32_t> of(int server) const {
    return std::span(positions).subspan(begins[server], begins[server + 1] - begins[server]);
  }
};

// REQUIRES: 1 <= servers <= kVirtualShards, ids.size() < 2^32.
ShardSplit SplitByServer(std::span<const uint64_t> ids, int servers);

// Adds copies of the ids, or of the values, at these positions to a message.
void AddIdsAt(const SparseRows& rows, std::span<const uint32_t> positions, TensorWriter* tensors);
void AddValuesAt(const SparseRows& rows, std::span<const uint32_t> positions,
                 TensorWriter* tensors);

}  // namespace flotilla
