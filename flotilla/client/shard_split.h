// Splits the rows of a table by the servers that own them, once per pull or push, by counting sort.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flotilla {

// positions holds the numbers [0, ids.size()) grouped by server; those of server s are
// positions[begins[s]] .. positions[begins[s + 1] - 1], in ascending order.
struct ShardSplit {
  std::vector<uint32_t> positions;
  std::vector<uint32_t> begins;  // servers + 1 entries

  std::span<const uint32_t> of(int server) const {
    return std::span(positions).subspan(begins[server], begins[server + 1] - begins[server]);
  }
};

// REQUIRES: 1 <= servers <= kVirtualShards, ids.size() < 2^32.
ShardSplit SplitByServer(std::span<const uint64_t> ids, int servers);

}  // namespace flotilla
