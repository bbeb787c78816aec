// A plan is a graph prepared for execution: which ops run, in which order, in which memory, and
// which are fused. It is computed once per model and shared, constant, by all workers; step.h runs
// it.
//
// The plan decides:
// - only ops that the loss or a fetched value needs are run, and in training those that keep
//   statistics (batch norm), which follow every batch; Backward runs only where a gradient is
//   needed;
// - all sparse lookups of a table become one: ids are deduplicated once, and where the only reader
//   of a lookup (or of a dense input) is a concat, its rows are gathered directly into the columns
//   of the concat's result;
// - softmax and the cross entropy that reads it are fused;
// - whether a batch may be split into blocks of rows, so that activations stay in the caches;
// - when the memory of a value may be reused.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "flotilla/graph/graph.h"
#include "flotilla/graph/op.h"
#include "flotilla/tensor/dense_layout.h"

namespace flotilla {

struct PlanOptions {
  // The value to minimise; -1 plans for inference: no gradients.
  int loss = -1;
  // Values to expose after a run; inputs of ids too, which costs nothing.
  std::vector<int> fetches;
};

// Where a value lives while a step runs.
struct Place {
  enum class Kind {
    kNone,       // ids, or not needed
    kBatch,      // in the batch itself: field `index`, read only
    kParameter,  // in the flat dense block at offset `index`
    kBuffer,     // in the step's memory: buffer `index`
    kColumns,    // in the columns from `column` on of the concat result `index`
  };
  Kind kind = Kind::kNone;
  int64_t index = 0;
  int64_t column = 0;
};

// A piece of the step's memory, in use from time `begin` to time `end` (inclusive). Time counts the
// ops of the forward pass, then those of the backward pass.
struct BufferSpec {
  bool per_row = false;
  int64_t row_floats = 0;  // per row, or in total
  int begin = 0;
  int end = 0;
};

// One op to run.
struct PlannedNode {
  int node = -1;  // index in GraphDef::nodes
  std::unique_ptr<Op> op;
  bool fused = false;
  bool backward = false;             // Backward is called
  std::vector<char> input_gradient;  // per input: its gradient is needed
  std::vector<char> accumulate;      // per input: an earlier op wrote into that gradient
  std::vector<char> zero_first;      // per input: the step zeroes the gradient before Backward
  int saved_buffer = -1;             // per-row part is sized by Op::saved_floats
  // Dense parameters whose gradient is complete after this Backward, and which no later op reads.
  std::vector<int> completes;
  // The one of these whose gradient the op can deliver in parts (OpTraits::gives_parts_of), or -1.
  int completes_in_parts = -1;
};

// One slot of a table: an input of a node that looks up rows. Slots are in the order of the graph.
struct PlannedSlot {
  int node = -1;
  int input = -1;        // field of the batch
  int var = -1;          // the node's output
  bool trained = false;  // a gradient is needed
};

// Slots of one table that fill neighbouring columns of one concat, or all slots of one node.
struct SlotGroup {
  int first = 0;  // index in PlannedTable::slots
  int count = 1;
};

struct PlannedTable {
  int table = -1;
  std::vector<PlannedSlot> slots;
  std::vector<SlotGroup> groups;
  bool trained = false;  // at least one slot is trained
};

// Constant after Make; thread-safe.
class Plan {
 public:
  // Errors: those of the graph, a loss that is not a scalar or that depends on no trained
  // parameter.
  // REQUIRES: the graph outlives the plan.
  static StatusOr<std::unique_ptr<Plan>> Make(const GraphDef& graph, PlanOptions options);

  const GraphDef& graph() const { return *graph_; }
  const PlanOptions& options() const { return options_; }
  const DenseLayout& layout() const { return layout_; }
  bool training() const { return options_.loss >= 0; }

  std::span<const PlannedNode> nodes() const { return nodes_; }
  std::span<const PlannedTable> tables() const { return tables_; }
  const Place& value(int var) const { return values_[var]; }
  const Place& gradient(int var) const { return gradients_[var]; }
  // Whether the rows of a batch may be computed block by block, and the gradients of the blocks
  // added.
  bool row_blocks() const { return row_blocks_; }
  // Whether the value has no rows and is a sum over rows: the results of blocks of rows must be
  // added.
  bool summed(int var) const { return summed_[var] != 0; }
  // Whether the value has no rows and contains a sum over the rows that is not divided by another
  // such sum or by their number: it grows with the batch, unlike a mean, a weighted mean or sums of
  // those.
  bool grows_with_rows(int var) const { return grows_with_rows_[var] != 0; }
  // Dense parameters whose gradient no op writes: the step zeroes them.
  std::span<const int> unused_parameters() const { return unused_parameters_; }

  std::span<const BufferSpec> buffers() const { return buffers_; }
  // Memory layout of the buffers for blocks of up to `rows` rows: offsets in floats from the start
  // of one arena, multiples of a cache line, and the arena's size. Buffers whose lifetimes do not
  // overlap share memory.
  struct Arena {
    std::vector<int64_t> offsets;
    int64_t floats = 0;
  };
  Arena AssignBuffers(int64_t rows) const;

 private:
  friend class PlanBuilder;
  Plan() = default;

  const GraphDef* graph_ = nullptr;
  PlanOptions options_;
  DenseLayout layout_;
  std::vector<PlannedNode> nodes_;
  std::vector<PlannedTable> tables_;
  std::vector<Place> values_, gradients_;
  std::vector<BufferSpec> buffers_;
  // saved_nodes_[b]: the planned node that uses buffer b as its saved memory, or -1.
  std::vector<int> saved_nodes_;
  std::vector<int> unused_parameters_;
  std::vector<char> summed_, grows_with_rows_;
  bool row_blocks_ = true;
};

}  // namespace flotilla
