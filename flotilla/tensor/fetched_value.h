// A value of a batch that a step hands out: predictions, labels, losses.
#pragma once

#include <cstdint>
#include <span>

namespace flotilla {

// (rows, row_size), or (row_size) for a value without rows. Valid as long as its giver says.
struct FetchedValue {
  std::span<const float> values;
  int64_t row_size = 1;
  bool per_row = false;
};

}  // namespace flotilla
