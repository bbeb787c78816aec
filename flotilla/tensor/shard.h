// Which server owns what. A row: id -> virtual shard -> server; the number of virtual shards is
// fixed for ever, so a checkpoint loads on any number of servers and a sync run does not depend on
// it. Dense parameters: a contiguous range of the flat block.
#pragma once

#include <algorithm>
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

// A dense block is cut over servers in blocks of so many floats; the last takes the remainder.
inline constexpr int64_t kDenseBlockFloats = 8192;

struct DenseRange {
  int64_t begin = 0;  // a multiple of a cache line's floats
  int64_t end = 0;

  int64_t size() const { return end - begin; }
  bool operator==(const DenseRange&) const = default;
};

// The range of a dense block of `floats` that a server owns: contiguous, in the order of servers,
// as even as blocks allow. Empty for some where there are more servers than blocks.
// REQUIRES: 0 <= server < servers.
constexpr DenseRange DenseRangeOf(int64_t floats, int server, int servers) {
  const int64_t blocks = std::max<int64_t>(1, floats / kDenseBlockFloats);
  const auto boundary = [&](int64_t k) {
    const int64_t block = k * blocks / servers;
    return block == blocks ? floats : block * kDenseBlockFloats;
  };
  return {boundary(server), boundary(server + 1)};
}

}  // namespace flotilla
