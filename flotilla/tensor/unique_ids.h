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
  // Fibonacci hashing: the upper bits of the product, which all bits of the id reach.
  size_t SlotOf(uint64_t id) const { return id * 0x9e3779b97f4a7c15ull >> shift_; }
  // Empties the table, which has `slots` slots then, a power of two above 1.
  void ClearSlots(size_t slots);
  // Adds an id in the empty slot; returns its entry.
  uint32_t Insert(size_t slot, uint64_t id);

  std::vector<uint64_t> ids_;
  // Open addressing, at most half full; an entry is index + 1 in ids_, 0 is empty. It is sized by
  // the number of distinct ids, which is a fraction of the occurrences, so that it fits the caches.
  std::vector<uint32_t> slots_;
  uint64_t mask_ = 0;
  int shift_ = 0;
};

}  // namespace flotilla
