// All rows of a table with a fixed number of rows, as one array in memory, which a fused step
// updates in place. A view: its lifetime and permitted uses are documented by the function that
// returns it.
#pragma once

#include <cstdint>

namespace flotilla {

// Row `id` is first[id * stride .. id * stride + dim). The memory between the end of one row and
// the next belongs to the table.
struct RowBlock {
  float* first = nullptr;
  int64_t rows = 0;
  int64_t dim = 0;
  int64_t stride = 0;  // floats

  float* row(uint64_t id) const { return first + static_cast<int64_t>(id) * stride; }
};

}  // namespace flotilla
