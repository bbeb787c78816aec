// The gradients that a step returns and a communicator pushes.
#pragma once

#include <cstdint>
#include <vector>

#include "flotilla/base/aligned_vector.h"
#include "flotilla/tensor/sparse_rows.h"

namespace flotilla {

// Gradients of the loss summed over the rows of the step.
// Invariants: dense.size() == DenseLayout::size() of the model (zeros for parameters that are
// not trainable or in ModelSpec::without_gradient); sparse[t] belongs to table t in order of
// declaration.
struct Gradients {
  AlignedVector<float> dense;
  std::vector<SparseRows> sparse;
  // The dense gradients were already applied while the step ran; a push ignores them.
  bool dense_applied = false;
  // Number of batch rows that contributed, and their loss, for reports.
  int64_t rows = 0;
  double loss = 0;
};

}  // namespace flotilla
