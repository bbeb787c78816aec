// The ids of one slot for the rows of a batch: any number of ids per row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flotilla {

// Invariants: either `offsets` is empty and ids.size() == rows (one id in every row, the common
// case of click logs), or offsets.size() == rows + 1, offsets are ascending, offsets[0] == 0 and
// offsets[rows] == ids.size(). Row i has ids[offsets[i] .. offsets[i + 1]). `weights` is empty (all
// weights are 1) or has one finite weight per id, which multiplies the row that is looked up.
struct RaggedIds {
  std::vector<uint64_t> ids;
  std::vector<uint32_t> offsets;
  std::vector<float> weights = {};

  bool one_per_row() const { return offsets.empty(); }
  uint32_t begin_of(int64_t row) const {
    return offsets.empty() ? static_cast<uint32_t>(row) : offsets[row];
  }
  std::span<const uint64_t> row(int64_t i) const {
    return std::span(ids).subspan(begin_of(i), begin_of(i + 1) - begin_of(i));
  }
  void clear() {
    ids.clear();
    offsets.clear();
    weights.clear();
  }
};

}  // namespace flotilla
