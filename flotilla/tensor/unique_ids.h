// Deduplicates the ids of a batch and maps each occurrence to its distinct id: this turns 26 slots
// of a table into one pull, one gather and one scatter.
//
// Not thread-safe; use one per worker and table and reuse it, so that it allocates only while it
// grows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flotilla {

class UniqueIds {
 public:
  // Clears everything and makes room for `occurrences` ids.
  void Reset(size_t occurrences);

  // Adds occurrences; positions[i] becomes the index in ids() of occurrences[i].
  // REQUIRES: positions.size() == occurrences.size(), and the total over all calls does not exceed
  // the number given to Reset.
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
