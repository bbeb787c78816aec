// A batch of examples, the value that a dataset hands to a step. Fields stand in the order in which
// the model declared its inputs; nothing in a batch has a name.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flotilla/base/aligned_vector.h"
#include "flotilla/tensor/input_spec.h"
#include "flotilla/tensor/ragged_ids.h"

namespace flotilla {

// One input's data: `values` (rows, width) for dense inputs and labels, `ids` for id inputs.
struct Field {
  AlignedVector<float> values;
  RaggedIds ids;
};

// Invariant: fields.size() == number of inputs, and each field holds `rows` rows of its kind.
struct Batch {
  int64_t rows = 0;
  int64_t epoch = 0;
  // Position of the batch in its epoch, counted over all workers: the key of whatever is random in
  // its computation, so that results do not depend on which worker computes it.
  int64_t ordinal = 0;
  std::vector<Field> fields;

  // Empties every field and keeps their memory.
  void Clear();
  // Ok, or which field breaks the invariant against `inputs`, with its name and both sizes.
  Status Check(std::span<const InputSpec> inputs) const;
};

// Rows [begin, end) of a batch: what one run of a step computes. The batch outlives the slice.
struct BatchSlice {
  const Batch* batch = nullptr;
  int64_t begin = 0;
  int64_t end = 0;

  explicit BatchSlice(const Batch& whole) : batch(&whole), begin(0), end(whole.rows) {}
  BatchSlice(const Batch& whole, int64_t first, int64_t last)
      : batch(&whole), begin(first), end(last) {}
  int64_t rows() const { return end - begin; }
};

}  // namespace flotilla
