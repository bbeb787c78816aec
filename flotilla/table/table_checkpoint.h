// Connects tables and checkpoints: writes the cut of a sparse table, and fills tables from a model
// directory. Used by the local communicator and by servers, which write and read their own shards.
#pragma once

#include <atomic>
#include <span>

#include "flotilla/base/status.h"
#include "flotilla/checkpoint/reader.h"
#include "flotilla/checkpoint/writer.h"
#include "flotilla/table/sparse_table.h"

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

// Reads the rows of the shards into `table`, on `threads` threads; without state they get an
// initial state. REQUIRES: CheckTableFits, threads >= 1.
Status LoadTable(const CheckpointReader& reader, const SavedTable& saved, ShardRange shards,
                 bool with_state, int threads, SparseTable* table);

// Ok if `now` can continue with state that was saved by `saved`: the same rule with the same
// parameters. Rates, decay and clipping may differ. The error names both.
Status CheckSameRule(const OptimizerSpec& saved, const OptimizerSpec& now);

}  // namespace flotilla
