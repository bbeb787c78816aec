// The distinct ids of a batch and where each occurrence finds its own: what turns 26 slots of a
// table into one pull, one gather and one scatter.
//
// Not thread-safe; one per worker and table, reused, so that it allocates only while it grows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flotilla {

class UniqueIds {
 public:
  // Forgets everything and makes room for `occurrences` ids.
  void Reset(size_t occurrences);

  // Adds occurrences; positions[i] becomes the index in ids() of occurrences[i].
  // REQUIRES: positions.size() == occurrences.size(), and no more in all than Reset announced.
  void Add(std::span<const uint64_t> occurrences, std::span<uint32_t> positions);

  // Distinct ids in the order of their first occurrence.
  const std::vector<uint64_t>& ids() const { return ids_; }

 private:
  std::vector<uint64_t> ids_;
  // Open addressing; an entry is index + 1 in ids_, 0 is empty. Its size is a power of two.
  std::vector<uint32_t> slots_;
  uint64_t mask_ = 0;
};

}  // namespace flotilla
