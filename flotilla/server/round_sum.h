// The gradients of one server's parameters, and their sum over the trainers of a round.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "flotilla/base/aligned_vector.h"
#include "flotilla/tensor/sparse_rows.h"
#include "flotilla/tensor/unique_ids.h"

namespace flotilla {

// The push of one trainer into a round; also the input of the round's update.
struct RoundPart {
  std::vector<SparseRows> sparse;  // one per table
  AlignedVector<float> dense;      // the server's slice; empty: no dense part
  int64_t rows = 0;                // examples
  // There is nothing to add: the trainer is in the round, but the mean is that of the others. As
  // the input of an update: all parts were empty, and nothing changes.
  bool empty = false;

  size_t memory_bytes() const;
  bool has_values() const { return memory_bytes() > 0; }
};

// Adds parts one after another. The result depends only on the parts and their order.
// Not thread-safe. Reused from round to round, so that it allocates only while it grows.
class RoundSum {
 public:
  // dims[t] is the dim of table t. `statistics` are the ranges [begin, end) of the dense slice that
  // hold statistics: they become the mean over the parts, weighted by their examples. Everything
  // else becomes the sum divided by the number of parts.
  RoundSum(std::vector<int64_t> dims, int64_t dense_floats,
           std::vector<std::pair<int64_t, int64_t>> statistics);

  void Start();
  // REQUIRES: one entry of `sparse` per table with the table's dim; a dense part as long as the
  // slice, or none.
  void Add(const RoundPart& part);
  int parts() const { return parts_; }

  // The mean of the added parts. Rows are in the order of their first appearance; a row that some
  // trainers did not touch is divided by the number of all parts, like everything else. Valid until
  // Start.
  // REQUIRES: parts() >= 1.
  const RoundPart& Mean();

 private:
  struct Table {
    UniqueIds unique;
    size_t announced = 0;  // occurrences that `unique` has room for
    size_t seen = 0;       // occurrences added to it
    std::vector<uint32_t> positions;
  };

  void AddRows(const SparseRows& rows, Table* table, SparseRows* sum);
  void AddDense(const RoundPart& part);

  const std::vector<std::pair<int64_t, int64_t>> statistics_;
  const size_t dense_floats_;
  std::vector<Table> tables_;
  RoundPart sum_;
  int parts_ = 0;
};

}  // namespace flotilla
