// Handles all slots of one table in one step: deduplicates ids once per batch, gathers rows into
// the locations of the slots' values, and scatters their gradients. Part of a step.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "flotilla/graph/plan.h"
#include "flotilla/kernels/interaction.h"
#include "flotilla/kernels/rows.h"
#include "flotilla/tensor/batch.h"
#include "flotilla/tensor/sparse_rows.h"
#include "flotilla/tensor/unique_ids.h"

namespace flotilla {

// A matrix inside another: `data` is the first element, rows are `stride` floats apart.
struct StridedRows {
  float* data = nullptr;
  int64_t stride = 0;
};

class TableLookup {
 public:
  // REQUIRES: graph and table outlive the object.
  TableLookup(const GraphDef* graph, const PlannedTable* table);

  // Deduplicates the ids of the slice: sets rows->ids and rows->dim. The ids of trained slots come
  // first. Ids beyond the width of a sequence are not among them.
  void Prepare(const BatchSlice& slice, SparseRows* rows);
  // Number of ids of the last Prepare that belong to trained slots: the rows that have a gradient.
  size_t trained_ids() const { return ids_->trained; }
  // Uses the distinct ids of `other` from now on if both tables are looked up by the same ids, as
  // the linear part and the vectors of a factorization machine are; otherwise does nothing. Each
  // Prepare of this object must then follow one of `other` with the same slice.
  void ShareIds(const TableLookup& other);

  // Fills the slots' values for rows [begin, end) of the batch from rows.values. place(var) is the
  // destination of a slot's values.
  using PlaceOf = std::function<StridedRows(int var)>;
  void Gather(const Batch& batch, int64_t begin, int64_t end, const SparseRows& rows,
              const PlaceOf& place) const;
  // Adds the slots' gradients for rows [begin, end) to grads->values. place(var).data is null if a
  // slot has no gradient. `rows` is what Gather was given.
  void Scatter(const Batch& batch, int64_t begin, int64_t end, const SparseRows& rows,
               SparseRows* grads, const PlaceOf& place) const;

  const PlannedTable& table() const { return *table_; }

 private:
  // How a slot's rows become a value.
  struct Rule {
    enum class Kind { kPooled, kSumSquares, kSequence, kFfm };
    Kind kind = Kind::kPooled;
    kernels::Pooling pooling = kernels::Pooling::kSum;
    int64_t width = 0;       // kSequence
    int64_t k = 0;           // kFfm
    bool normalize = false;  // kFfm
  };

  // The distinct ids of a slice, and which of them an occurrence is.
  struct DistinctIds {
    UniqueIds unique;
    size_t trained = 0;  // of trained slots, which come first
    // positions[s][o]: row in SparseRows of occurrence o of slot s, counted in the whole batch;
    // only those of the prepared slice are set.
    std::vector<std::vector<uint32_t>> positions;
  };

  static Rule RuleOf(const NodeDef& node);
  void FindDistinctIds(const BatchSlice& slice);
  // Adds the occurrences of rows [begin, end) of the batch that a slot looks up.
  void AddIds(size_t slot, const RaggedIds& ids, int64_t begin, int64_t end);
  // Whether the slots of a group are pooled and have one id of weight 1 in every row of this batch.
  bool OnePerRow(const Batch& batch, const SlotGroup& group) const;
  // The occurrences of a slot from row `begin` of the batch on.
  kernels::Bags BagsOf(const Batch& batch, int slot, int64_t begin) const;
  void GatherSlot(const Batch& batch, int slot, int64_t begin, int64_t end, const SparseRows& rows,
                  const StridedRows& out) const;
  void ScatterSlot(const Batch& batch, int slot, int64_t begin, int64_t end, const SparseRows& rows,
                   SparseRows* grads, const StridedRows& dout) const;
  // Starts to load the table rows of one row of the batch, and their gradients if they are not
  // null.
  void PrefetchFeatures(const Batch& batch, const SlotGroup& group, int64_t row,
                        const SparseRows& rows, const SparseRows* grads) const;
  // Lists the features of one row of the batch; `grads` may be null. Returns the factor of their
  // sum.
  float ListFeatures(const Batch& batch, const SlotGroup& group, int64_t row,
                     const SparseRows& rows, SparseRows* grads) const;
  void GatherFfm(const Batch& batch, const SlotGroup& group, int64_t begin, int64_t end,
                 const SparseRows& rows, const StridedRows& out) const;
  void ScatterFfm(const Batch& batch, const SlotGroup& group, int64_t begin, int64_t end,
                  const SparseRows& rows, SparseRows* grads, const StridedRows& dout) const;
  const RaggedIds& IdsOf(const Batch& batch, int slot) const {
    return batch.fields[table_->slots[slot].input].ids;
  }

  const PlannedTable* table_;
  int64_t dim_;
  std::vector<Rule> rules_;  // per slot
  std::shared_ptr<DistinctIds> ids_;
  bool shares_ids_ = false;  // another lookup finds them
  mutable std::vector<const uint32_t*> group_positions_;
  mutable std::vector<kernels::FfmFeature> features_;
};

}  // namespace flotilla
