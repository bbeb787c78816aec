// A value of a batch that a step exposes: predictions, labels, losses.
#pragma once

#include <cstdint>
#include <span>

#include "flotilla/tensor/ragged_ids.h"

namespace flotilla {

// (rows, row_size), or (row_size) for a value without rows. An input of ids has no values but
// `ids`, whose row first_row + i is row i. Its lifetime is documented by the function that returns
// it.
struct FetchedValue {
  std::span<const float> values;
  int64_t row_size = 1;
  bool per_row = false;
  const RaggedIds* ids = nullptr;
  int64_t first_row = 0;

  // The ids of a row. REQUIRES: ids is not null.
  std::span<const uint64_t> row_ids(int64_t row) const { return ids->row(first_row + row); }
};

}  // namespace flotilla
