// Some rows of one sparse table: the values pulled for a step, or the gradients it returns.
#pragma once

#include <cstdint>
#include <vector>

#include "flotilla/base/aligned_vector.h"

namespace flotilla {

// What a pull does with an id that has no row yet.
enum class Missing {
  kCreate,   // training: the row is made, with its first value
  kDefault,  // evaluation: the first value is returned, the table does not change
};

// Invariants: ids are distinct; values.size() == ids.size() * dim, row i belongs to ids[i];
// `locations` is empty or has one entry per id.
struct SparseRows {
  int64_t dim = 0;
  std::vector<uint64_t> ids;
  AlignedVector<float> values;
  // Where the table that served a pull found each row, so that the push of the same rows need not
  // search again. Opaque to everyone but that table; empty when the rows came from elsewhere.
  std::vector<uint32_t> locations;

  size_t size() const { return ids.size(); }
  float* row(size_t i) { return values.data() + i * dim; }
  const float* row(size_t i) const { return values.data() + i * dim; }
};

}  // namespace flotilla
