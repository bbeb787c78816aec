// A batch of examples, the value that a dataset passes to a step. Fields are in the order in which
// the model declared its inputs; a batch contains no names.
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

// Where the rows of a batch came from, in terms of the dataset that made it, which can name them
// (Dataset::NameRow). A few numbers, because every batch has them.
struct BatchOrigin {
  struct Place {
    int64_t file = 0;
    int64_t line = 0;

    bool operator==(const Place&) const = default;
  };

  int reader = -1;  // of the dataset; -1: not known
  // The rows among which those of the batch are: the place of the first one, the place after the
  // last one in its file, and their number.
  Place begin, end;
  int64_t rows = 0;
  // If they were shuffled: the position of the batch's first row in their order; -1: the rows are
  // those of the batch.
  int64_t shuffled_at = -1;
  int64_t taken = 0;  // rows of the batch, with the bad ones that were left out

  bool operator==(const BatchOrigin&) const = default;
};

// Invariant: fields.size() == number of inputs, and each field holds `rows` rows of its kind.
struct Batch {
  int64_t rows = 0;
  int64_t epoch = 0;
  // Position of the batch in its epoch, counted over all workers. It keys all random choices of the
  // batch's computation, so that results do not depend on which worker computes it.
  int64_t ordinal = 0;
  BatchOrigin origin;
  std::vector<Field> fields;

  // Clears every field but keeps its memory. The numbers other than `rows` are left as they are.
  void Clear();
  // Checks the invariant against `inputs`. The error names the offending field and both sizes.
  Status Check(std::span<const InputSpec> inputs) const;
};

// Rows [begin, end) of a batch: the input of one run of a step. The batch outlives the slice.
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
