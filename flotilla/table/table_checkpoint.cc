#include "flotilla/table/table_checkpoint.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/base/worker_pool.h"

namespace flotilla {
namespace {

std::string RuleText(const OptimizerSpec& optimizer) {
  std::string text;
  for (const auto& [name, value] : optimizer.params) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  }
  return text.empty() ? optimizer.name : fmt::format("{} ({})", optimizer.name, text);
}

Status LoadShard(const CheckpointReader& reader, const SavedTable& saved, int shard,
                 bool with_state, SparseTable* table) {
  const auto columns =
      with_state ? CheckpointReader::Columns::kAll : CheckpointReader::Columns::kWeights;
  std::vector<RowMeta> meta;
  return reader.ReadRows(saved, shard, columns, [&](const TableRows& rows) {
    meta.clear();
    for (size_t i = 0; i < rows.meta.size(); i += 2) {
      meta.push_back({.pushes = rows.meta[i], .last_step = rows.meta[i + 1]});
    }
    // A table that is not trained keeps no state, regardless of what was saved.
    const bool use_state = with_state && table->layout().states > 0;
    return table->LoadRows(
        {.ids = rows.ids,
         .weights = rows.weights,
         .state = use_state ? std::span<const float>(rows.state) : std::span<const float>(),
         .meta = meta});
  });
}

}  // namespace

SavedTable DescribeTable(const SparseTable& table, bool with_state) {
  return {.name = table.spec().name,
          .dim = table.spec().dim,
          .id_limit = table.spec().rows,
          .states = with_state ? table.layout().states : 0,
          .meta = with_state && table.spec().keep_meta,
          .parts = {}};
}

Status WriteTable(SparseTable& table, ShardRange shards, bool with_state, PartWriter* writer,
                  const std::atomic<bool>* give_up) {
  std::vector<int64_t> rows;
  for (int shard = shards.first; shard < shards.end(); ++shard)
    rows.push_back(table.CutRows(shard));
  FL_ASSIGN_OR_RETURN(TableWriter * out,
                      writer->BeginTable(DescribeTable(table, with_state), shards, rows));
  for (int shard = shards.first; shard < shards.end() && out->status().ok(); ++shard) {
    if (give_up != nullptr && *give_up) return absl::CancelledError("the save was cancelled");
    FL_RETURN_IF_ERROR(table.ReadCut(shard, RowOrder::kAscendingId, [&](const RowView& row) {
      out->Add(row.id, row.weights, row.state, row.meta.pushes, row.meta.last_step);
    }));
  }
  return writer->FinishTable();
}

Status CheckTableFits(const SavedTable& saved, const TableSpec& spec, int states) {
  if (saved.dim != spec.dim) {
    return InvalidArgument("dim {} there, {} here", saved.dim, spec.dim);
  }
  if (spec.rows > 0 && (saved.id_limit == 0 || saved.id_limit > spec.rows)) {
    const std::string there =
        saved.id_limit == 0 ? "any id" : fmt::format("ids below {}", saved.id_limit);
    return InvalidArgument("{} there, ids below {} here", there, spec.rows);
  }
  if (states > 0 && saved.states != states) {
    return InvalidArgument("{} states per weight there, {} here", saved.states, states);
  }
  return absl::OkStatus();
}

Status LoadTable(const CheckpointReader& reader, const SavedTable& saved, ShardRange shards,
                 bool with_state, int threads, SparseTable* table) {
  std::atomic<int> next = shards.first;
  Mutex mutex;
  Status first_error;  // guarded by mutex
  WorkerPool pool(saved.rows() > 10'000 ? threads : 1);
  pool.Run([&](int) {
    for (int shard = next++; shard < shards.end(); shard = next++) {
      const Status status = LoadShard(reader, saved, shard, with_state, table);
      if (status.ok()) continue;
      MutexLock lock(mutex);
      if (first_error.ok()) first_error = status;
      next = shards.end();
      return;
    }
  });
  return Annotate(first_error, fmt::format("table {}", saved.name));
}

Status CheckSameRule(const OptimizerSpec& saved, const OptimizerSpec& now) {
  bool same = saved.name == now.name;
  for (const auto& [name, value] : saved.params) {
    const auto other = now.params.find(name);
    if (other != now.params.end() && other->second != value) same = false;
  }
  if (same) return absl::OkStatus();
  return InvalidArgument("the optimizer state was saved by {}, this model uses {}", RuleText(saved),
                         RuleText(now));
}

}  // namespace flotilla
