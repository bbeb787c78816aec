// Connects tables and checkpoints: writes the cut of a sparse table, and fills tables from a model
// directory. Used by the local communicator and by servers, which write and read their own shards.
#pragma once

#include <atomic>
#include <vector>

#include "flotilla/base/interrupt.h"
#include "flotilla/base/status.h"
#include "flotilla/checkpoint/reader.h"
#include "flotilla/checkpoint/writer.h"
#include "flotilla/table/dense_table.h"
#include "flotilla/table/sparse_table.h"
#include "flotilla/tensor/dense_layout.h"
#include "flotilla/tensor/load_parts.h"
#include "flotilla/tensor/model_spec.h"

namespace flotilla {

// The description of the table for the manifest. Without state a row consists of its weights only.
SavedTable DescribeTable(const SparseTable& table, bool with_state);

// Writes the rows of the shards as they were at the cut, while pushes continue. Each shard is read
// once (ReadCut). Returns Cancelled soon after *give_up becomes true. REQUIRES: a cut is active.
Status WriteTable(SparseTable& table, ShardRange shards, bool with_state, PartWriter* writer,
                  const std::atomic<bool>* give_up = nullptr);

// Checks whether the saved table can be loaded into one of this spec: the error contains the
// difference (dim, bound of the ids, number of states). `states` is the number of state arrays of
// the table, 0 if state is not to be loaded.
Status CheckTableFits(const SavedTable& saved, const TableSpec& spec, int states);

// The same for a dense parameter: the difference is in its shape or in the number of states.
Status CheckParameterFits(const SavedParameter& saved, const ParameterSpec& spec, int states);

// The saved table, or parameter, that has the name of the spec. An error if there is none or it
// does not fit; it contains the name.
StatusOr<const SavedTable*> FindSaved(const Manifest& manifest, const TableSpec& spec, int states);
StatusOr<const SavedParameter*> FindSaved(const Manifest& manifest, const ParameterSpec& spec,
                                          int states);

// FailedPrecondition if the table has rows: a model is loaded only into empty tables.
Status CheckEmpty(const SparseTable& table);

// Reads the rows of the shards into `table`, on `threads` threads; without state they get an
// initial state. Ends with the status of the interrupt soon after it is raised; it may be null.
// REQUIRES: CheckTableFits, threads >= 1.
Status LoadTable(const CheckpointReader& reader, const SavedTable& saved, ShardRange shards,
                 bool with_state, int threads, SparseTable* table,
                 const Interrupt* interrupt = nullptr);

// A saved dense parameter.
struct SavedValues {
  std::vector<float> weights;
  std::vector<float> state;  // (states, weights), or empty
};

// REQUIRES: `length` is the number of weights; `states` is that of the saved parameter, or 0: none
// are read.
StatusOr<SavedValues> ReadValues(const CheckpointReader& reader, const SavedParameter& saved,
                                 int64_t length, int states);

// The parameters of a process into which a model is loaded: all of them, or the share of a server.
struct LoadTarget {
  std::vector<SparseTable*> tables;  // one per table of the model
  ShardRange shards;                 // whose rows they hold
  DenseTable* dense = nullptr;
  std::vector<DenseSlice> slices;        // parameter i of `dense` is slices[i] of the model
  const Interrupt* interrupt = nullptr;  // ends the load with its status; null: nothing does
};

// Loads the parts of a saved model, found by name, on `threads` threads; without optimizer state
// they get an initial one. Everything is checked before anything is changed: the names, whether
// they fit, and that the tables are empty. REQUIRES: indices in `parts` are those of `spec`, for
// which `target` was made; threads >= 1; no other thread uses the target.
Status LoadModelParts(const CheckpointReader& reader, const ModelSpec& spec, const LoadParts& parts,
                      int threads, const LoadTarget& target);

// Ok if `now` can continue with state that was saved by `saved`: the same rule with the same
// parameters. Rates, decay and clipping may differ. The error names both.
Status CheckSameRule(const OptimizerSpec& saved, const OptimizerSpec& now);

}  // namespace flotilla
