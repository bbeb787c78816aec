// All rows of a table that has a fixed number of them, as one array in memory: what a fused step
// works on in place. A view: who gave it says how long it holds and what may be done with it.
#pragma once

#include <cstdint>

namespace flotilla {

// Row `id` is first[id * stride .. id * stride + dim). What stands between the end of one row and
// the next belongs to the table.
struct RowBlock {
  float* first = nullptr;
  int64_t rows = 0;
  int64_t dim = 0;
  int64_t stride = 0;  // floats

  float* row(uint64_t id) const { return first + static_cast<int64_t>(id) * stride; }
};

}  // namespace flotilla
