// Some rows of one sparse table: the values pulled for a step, or the gradients it returns.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flotilla/base/aligned_vector.h"

namespace flotilla {

// How a pull handles an id that has no row yet.
enum class Missing {
  kCreate,   // training: the row is created with its initial value
  kDefault,  // evaluation: the initial value is returned, the table does not change
};

// Rows that are stored elsewhere, with the invariants of SparseRows, which converts to it.
struct RowsView {
  int64_t dim = 0;
  std::span<const uint64_t> ids;
  std::span<const float> values;
  std::span<const uint32_t> locations;

  size_t size() const { return ids.size(); }
  const float* row(size_t i) const { return values.data() + i * dim; }
  // The rows [begin, end).
  RowsView Range(size_t begin, size_t end) const {
    const size_t count = end - begin;
    return {dim, ids.subspan(begin, count), values.subspan(begin * dim, count * dim),
            locations.empty() ? locations : locations.subspan(begin, count)};
  }
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
  operator RowsView() const { return {dim, ids, values, locations}; }  // NOLINT(google-explicit-*)
};

}  // namespace flotilla
