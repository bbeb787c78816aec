// A value of a batch that a step exposes: predictions, labels, losses.
#pragma once

#include <cstdint>
#include <span>

namespace flotilla {

// (rows, row_size), or (row_size) for a value without rows. Its lifetime is documented by the
// function that returns it.
struct FetchedValue {
  std::span<const float> values;
  int64_t row_size = 1;
  bool per_row = false;
};

}  // namespace flotilla
