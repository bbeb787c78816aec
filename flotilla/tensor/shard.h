// Assigns rows and dense parameters to servers. Rows: id -> virtual shard -> server; the number of
// virtual shards never changes, so a checkpoint loads on any number of servers and the result of a
// sync run does not depend on the number of servers. Dense parameters: each server owns a
// contiguous range of the flat block.
#pragma once

#include <algorithm>
#include <cstdint>

#include "flotilla/base/hash.h"

namespace flotilla {

inline constexpr int kVirtualShardBits = 9;
inline constexpr int kVirtualShards = 1 << kVirtualShardBits;

// Uses the top bits of the mixed id; row indexes use the low bits, so the two are independent.
constexpr int VirtualShard(uint64_t id) {
  return static_cast<int>(Mix64(id) >> (64 - kVirtualShardBits));
}

// Servers own contiguous ranges of shards, as even as possible.
// REQUIRES: 1 <= servers <= kVirtualShards.
constexpr int ServerOfShard(int shard, int servers) { return shard * servers / kVirtualShards; }

// Virtual shards [first, first + count).
struct ShardRange {
  int first = 0;
  int count = kVirtualShards;

  int end() const { return first + count; }
  bool contains(int shard) const { return shard >= first && shard < end(); }
  bool operator==(const ShardRange&) const = default;
};

// The shards of a server: those for which ServerOfShard returns it. REQUIRES as above.
constexpr ShardRange ShardsOf(int server, int servers) {
  const auto first = [servers](int s) { return (s * kVirtualShards + servers - 1) / servers; };
  return {.first = first(server), .count = first(server + 1) - first(server)};
}

// A dense block is split over servers in blocks of this many floats; the last block includes the
// remainder.
inline constexpr int64_t kDenseBlockFloats = 8192;

struct DenseRange {
  int64_t begin = 0;  // a multiple of a cache line's floats
  int64_t end = 0;

  int64_t size() const { return end - begin; }
  bool operator==(const DenseRange&) const = default;
};

// The range of a dense block of `floats` that a server owns: contiguous, in the order of servers,
// as even as the block size allows. Empty for some servers if there are more servers than blocks.
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
