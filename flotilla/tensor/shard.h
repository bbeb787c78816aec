// Which server owns a row: id -> virtual shard -> server. The number of virtual shards is fixed for
// ever, so a checkpoint loads on any number of servers and a sync run does not depend on it.
#pragma once

#include <cstdint>

#include "flotilla/base/hash.h"

namespace flotilla {

inline constexpr int kVirtualShardBits = 9;
inline constexpr int kVirtualShards = 1 << kVirtualShardBits;

// The top bits of the mixed id; row indexes use the low ones, so the two are independent.
constexpr int VirtualShard(uint64_t id) {
  return static_cast<int>(Mix64(id) >> (64 - kVirtualShardBits));
}

// Contiguous ranges of shards, as even as they can be. REQUIRES: 1 <= servers <= kVirtualShards.
constexpr int ServerOfShard(int shard, int servers) { return shard * servers / kVirtualShards; }

}  // namespace flotilla
