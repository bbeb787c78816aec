// Between tables and checkpoints: writes the cut of a sparse table, and fills tables from a model
// directory. Used by the local communicator and by servers, which write and read their own shards.
#pragma once

#include <atomic>
#include <span>

#include "flotilla/base/status.h"
#include "flotilla/checkpoint/reader.h"
#include "flotilla/checkpoint/writer.h"
#include "flotilla/table/sparse_table.h"

namespace flotilla {

// How the manifest describes the table. Without state a row is its weights alone.
SavedTable DescribeTable(const SparseTable& table, bool with_state);

// Writes the rows of the shards as they were at the cut, while pushes go on. Each shard is read
// once (ReadCut). When *give_up becomes true it ends soon, with Cancelled. REQUIRES: a cut is
// active.
Status WriteTable(SparseTable& table, ShardRange shards, bool with_state, PartWriter* writer,
                  const std::atomic<bool>* give_up = nullptr);

// Whether the saved table can be loaded into one of this spec: an error says what differs (dim,
// bound of the ids, number of states). `states` is what the table keeps beside its weights, 0 where
// state is not to be loaded.
Status CheckTableFits(const SavedTable& saved, const TableSpec& spec, int states);

// Reads the rows of the shards into `table`, on `threads` threads; without state they get a fresh
// one. REQUIRES: CheckTableFits, threads >= 1.
Status LoadTable(const CheckpointReader& reader, const SavedTable& saved, ShardRange shards,
                 bool with_state, int threads, SparseTable* table);

// Ok if state that was made by `saved` can be gone on with by `now`: the same rule with the same
// parameters. Rates, decay and clipping may differ. The error names both.
Status CheckSameRule(const OptimizerSpec& saved, const OptimizerSpec& now);

}  // namespace flotilla
