// Some rows of one sparse table: the values pulled for a step, or the gradients it returns.
#pragma once

#include <cstdint>
#include <vector>

#include "flotilla/base/aligned_vector.h"

namespace flotilla {

// How a pull handles an id that has no row yet.
enum class Missing {
  kCreate,   // training: the row is created with its initial value
  kDefault,  // evaluation: the initial value is returned, the table does not change
};

// Invariants: ids are distinct; values.size() == ids.size() * dim, row i belongs to ids[i];
// `locations` is empty or has one entry per id.
struct SparseRows {
  int64_t dim = 0;
  std::vector<uint64_t> ids;
  AlignedVector<float> values;
  // Location of each row in the table that served the pull, so that the push of the same rows need
  // not look them up again. Opaque to all but that table; empty when the rows come from elsewhere.
  std::vector<uint32_t> locations;

  size_t size() const { return ids.size(); }
  float* row(size_t i) { return values.data() + i * dim; }
  const float* row(size_t i) const { return values.data() + i * dim; }
};

}  // namespace flotilla
