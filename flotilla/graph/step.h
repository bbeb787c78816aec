// A step runs a plan on batches: one per worker, with its own memory. It reports which rows it
// needs, receives them, and returns gradients; it does not know where parameters live.
//
//   step.Prepare(slice)            -> step.rows()[t].ids
//   communicator.Pull(step.rows()) -> step.rows()[t].values
//   step.Run(dense, &gradients)    -> loss, gradients, fetched values
//   communicator.Push(gradients)
//
// Allocates only while batches grow. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "flotilla/base/aligned_vector.h"
#include "flotilla/base/status.h"
#include "flotilla/graph/plan.h"
#include "flotilla/graph/table_lookup.h"
#include "flotilla/tensor/batch.h"
#include "flotilla/tensor/fetched_value.h"
#include "flotilla/tensor/gradient_source.h"
#include "flotilla/tensor/gradients.h"
#include "flotilla/tensor/sparse_rows.h"

namespace flotilla {

struct StepOptions {
  uint64_t seed = 0;
  // Index of the trainer in a job whose trainers have batches of the same ordinals: each trainer
  // draws different random numbers.
  int trainer = 0;
  // Number of rows computed at a time if the plan allows it: few enough that the activations of a
  // block stay in the L2 cache, many enough to amortise streaming the weights through it.
  int64_t block_rows = 256;
  // Whether ops behave as in training (dropout, batch norm).
  bool training = true;
};

// Called during a run when the gradient of a dense parameter is available and the run no longer
// reads the parameter: it may be updated at once, while both are in the caches. The source is valid
// only during this call.
using DenseReady = std::function<void(int parameter, GradientSource gradient)>;

class Step {
 public:
  // REQUIRES: the plan outlives the step.
  Step(const Plan* plan, StepOptions options);

  // Finds the distinct ids of the slice: rows()[t].ids. The slice's batch must stay valid until Run
  // ends. Errors: no rows, or a batch that does not fit the model's inputs.
  Status Prepare(BatchSlice slice);

  // One entry per table of the graph, in order of declaration; tables that the plan does not use
  // have no ids.
  std::span<SparseRows> rows() { return rows_; }

  // Forward and, when `gradients` is not null, backward over the prepared slice, with the values in
  // rows() and the flat dense block. Sets every field of *gradients, which takes ownership of the
  // ids and locations of rows(), without those that only untrained slots look up. Errors:
  // OutOfRange, and only then, for a loss that is not finite, naming the first value that is not;
  // ids that an op rejects. REQUIRES:
  // Prepare, then rows()[t].values filled, before every Run; the plan has a loss if gradients is
  // not null. `ready` is called once for every dense parameter, unless the run fails before its
  // backward pass; it may be empty. If it is not, gradients->dense is scratch.
  Status Run(std::span<const float> dense, Gradients* gradients, const DenseReady& ready = {});

  // Values of the last run, in the order of PlanOptions::fetches. Valid until the next Run, ids as
  // long as the batch of the slice.
  FetchedValue fetched(int k) const;

 private:
  struct Fetch {
    AlignedVector<float> values;
    int64_t row_size = 1;
    bool per_row = false;
    int ids = -1;  // the field of the batch, for an input of ids
  };

  Status RunBlock(bool first, const DenseReady& ready);
  Status Forward();
  void Backward(bool first, const DenseReady& ready);
  void TellReady(int parameter, const DenseReady& ready) const;
  void ZeroGradients(const PlannedNode& planned, OpContext& context, bool first);
  void GrowArena(int64_t rows);
  void BindRun(std::span<const float> dense, Gradients* gradients);
  void BindBlock(int64_t begin, int64_t end);
  void CopyDenseColumns();
  void StartFetches();
  void CollectFetches();
  Status CheckRows() const;
  Status ExplainBadLoss();
  Status FindBadValue() const;
  void FinishGradients();

  float* ValueOf(int var) const;
  float* GradientOf(int var) const;
  // Location of a value or gradient, with the stride between its rows.
  StridedRows Locate(const Place& place, float* (Step::*owner)(int) const, int var) const;

  const Plan* const plan_;
  const StepOptions options_;

  Plan::Arena arena_layout_;
  int64_t arena_rows_ = 0;
  AlignedVector<float> arena_;
  std::vector<OpContext> contexts_;  // one per planned node
  std::vector<RngKey> node_keys_;
  std::vector<SparseRows> rows_;      // per table of the graph
  std::vector<TableLookup> lookups_;  // per planned table
  std::vector<Fetch> fetches_;

  // State of the current run.
  BatchSlice slice_;
  int64_t block_begin_ = 0;
  int64_t block_end_ = 0;
  float* dense_ = nullptr;  // never written through
  Gradients* gradients_ = nullptr;
  double loss_ = 0;
};

}  // namespace flotilla
