// Orders ids by virtual shard, with a counting sort: then the rows of a server, and those of any
// range of shards within it, are contiguous. Clients split rows by server with it; servers work on
// such ranges without copying rows again.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flotilla {

struct ShardOrder {
  std::vector<uint32_t> places;  // of ids[i] in that order; ids of one shard keep their order
  std::vector<uint32_t> begins;  // kVirtualShards + 1: the places of shard s are
                                 // [begins[s], begins[s + 1])
  bool in_order = true;          // places[i] == i
};

// REQUIRES: ids.size() < 2^32.
ShardOrder OrderByShard(std::span<const uint64_t> ids);

}  // namespace flotilla
