// Test support for ops: runs a graph on random inputs, parameters and table rows, and compares the
// gradients that its ops compute with central differences. Linked into tests only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/graph/graph.h"
#include "flotilla/tensor/tensor.h"

namespace flotilla {

struct GradCheckOptions {
  int64_t rows = 7;          // rows of the batch
  int64_t block_rows = 256;  // as in StepOptions
  uint64_t seed = 1;         // seed of all random choices
  bool training = true;      // as in StepOptions
  // Parameters, dense inputs and table rows are uniform in [low, high).
  double low = -1;
  double high = 1;
  int64_t ids = 6;          // ids are below this, so that some occur twice
  int64_t labels = 2;       // labels are below this
  int64_t max_bag = 1;      // 1: one id in every row; more: bags of 0 to max_bag ids
  bool id_weights = false;  // ids have weights in [0.5, 1.5)
  // A gradient may differ by tolerance * (1 + its magnitude).
  double tolerance = 5e-3;
};

// Returns a value (batch, dims..) with a gradient: rows of a table of this name.
Var RandomRows(Graph& graph, const std::string& name, std::vector<int64_t> dims);

// Runs the graph forward on random data and returns the requested values; the first dimension of
// per-row values is the batch.
StatusOr<std::vector<Tensor>> EvaluateRandom(const Graph& graph, const std::vector<Var>& wanted,
                                             const GradCheckOptions& options = {});

// Ok if the gradients of sum(random weights * output), or of a scalar output itself, are correct
// for every trained parameter and table row, and the same when the step runs again. Otherwise the
// error contains the parameter, the element and both gradients.
Status CheckGradients(const Graph& graph, Var output, const GradCheckOptions& options = {});

// Like CheckGradients, for batches of 1, 2 and 7 rows, each as a whole and in blocks of 3.
Status CheckGradientsOfManyBatches(const Graph& graph, Var output,
                                   const GradCheckOptions& options = {});

}  // namespace flotilla
