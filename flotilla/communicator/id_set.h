// A set of ids of one table that is filled and emptied often: one bit per id if ids are
// bounded, else a hash table.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_set.h"

namespace flotilla {

// Not thread-safe.
class IdSet {
 public:
  // `bound` as TableSpec::rows; 0: none.
  explicit IdSet(int64_t bound) {
    if (bound <= kMaxBits) bits_.resize(static_cast<size_t>(bound + 63) / 64);
  }

  // REQUIRES of Add and Contains: ids within the bound.
  void Add(std::span<const uint64_t> ids) {
    if (bits_.empty()) return ids_.insert(ids.begin(), ids.end());
    for (const uint64_t id : ids) bits_[id / 64] |= uint64_t{1} << (id % 64);
  }
  bool Contains(uint64_t id) const {
    return bits_.empty() ? ids_.contains(id) : (bits_[id / 64] >> (id % 64) & 1) != 0;
  }
  void Clear() {
    std::fill(bits_.begin(), bits_.end(), 0);
    ids_.clear();
  }

 private:
  static constexpr int64_t kMaxBits = int64_t{1} << 24;

  std::vector<uint64_t> bits_;
  absl::flat_hash_set<uint64_t> ids_;
};

}  // namespace flotilla
