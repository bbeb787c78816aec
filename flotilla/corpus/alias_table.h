// Samples from any distribution over 0 .. n - 1 in constant time (the alias method). Used to draw
// negatives according to word frequency.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flotilla {

// Constant after construction. Each probability is exact to about 2^-32.
class AliasTable {
 public:
  AliasTable() = default;
  // Draws number i with a probability proportional to weights[i].
  // REQUIRES: no weight is negative or infinite, at least one is positive, fewer than 2^32.
  explicit AliasTable(std::span<const double> weights);

  size_t size() const { return entries_.size(); }

  // Maps 64 random bits to a number.
  uint32_t Draw(uint64_t bits) const {
    const uint64_t place = ((bits >> 32) * entries_.size()) >> 32;
    const Entry& entry = entries_[place];
    return static_cast<uint32_t>(bits) < entry.limit ? static_cast<uint32_t>(place) : entry.other;
  }

 private:
  struct Entry {
    uint32_t limit;  // of 2^32: threshold below which the index itself is drawn
    uint32_t other;  // the number drawn otherwise
  };
  std::vector<Entry> entries_;
};

}  // namespace flotilla
