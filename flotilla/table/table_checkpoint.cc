#include "flotilla/table/table_checkpoint.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/parallel_for.h"

namespace flotilla {
namespace {

std::string RuleText(const OptimizerSpec& optimizer) {
  std::string text;
  for (const auto& [name, value] : optimizer.params) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  }
  return text.empty() ? optimizer.name : fmt::format("{} ({})", optimizer.name, text);
}

// The part of a parameter's values that a slice covers.
SavedValues PartOf(const SavedValues& whole, const DenseSlice& slice) {
  SavedValues part;
  const auto copy = [&slice](const float* from, std::vector<float>* to) {
    to->insert(to->end(), from + slice.begin, from + slice.begin + slice.length);
  };
  copy(whole.weights.data(), &part.weights);
  for (size_t at = 0; at < whole.state.size(); at += whole.weights.size()) {
    copy(whole.state.data() + at, &part.state);
  }
  return part;
}

template <typename Saved, typename Spec, typename CheckFits>
StatusOr<const Saved*> Fitting(const char* kind, const Saved* saved, const Spec& spec, int states,
                               CheckFits check_fits) {
  if (saved == nullptr) return InvalidArgument("{} {} is missing", kind, spec.name);
  FL_RETURN_IF_ERROR(
      Annotate(check_fits(*saved, spec, states), fmt::format("{} {}", kind, spec.name)));
  return saved;
}

Status LoadShard(const CheckpointReader& reader, const SavedTable& saved, int shard,
                 bool with_state, SparseTable* table, const Interrupt* interrupt) {
  const auto columns =
      with_state ? CheckpointReader::Columns::kAll : CheckpointReader::Columns::kWeights;
  std::vector<RowMeta> meta;
  return reader.ReadRows(saved, shard, columns, [&](const TableRows& rows) -> Status {
    if (interrupt != nullptr) FL_RETURN_IF_ERROR(interrupt->status());
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

Status CheckParameterFits(const SavedParameter& saved, const ParameterSpec& spec, int states) {
  if (saved.shape != spec.shape) {
    return InvalidArgument("({}) there, ({}) here", fmt::join(saved.shape, ", "),
                           fmt::join(spec.shape, ", "));
  }
  if (states > 0 && saved.states != states) {
    return InvalidArgument("{} states per weight there, {} here", saved.states, states);
  }
  return absl::OkStatus();
}

StatusOr<const SavedTable*> FindSaved(const Manifest& manifest, const TableSpec& spec, int states) {
  return Fitting("table", manifest.FindTable(spec.name), spec, states, CheckTableFits);
}

StatusOr<const SavedParameter*> FindSaved(const Manifest& manifest, const ParameterSpec& spec,
                                          int states) {
  return Fitting("parameter", manifest.FindParameter(spec.name), spec, states, CheckParameterFits);
}

Status CheckEmpty(const SparseTable& table) {
  if (table.size() == 0) return absl::OkStatus();
  return FailedPrecondition(
      "table {} already has {} rows: a model can be loaded only into empty tables",
      table.spec().name, table.size());
}

Status LoadTable(const CheckpointReader& reader, const SavedTable& saved, ShardRange shards,
                 bool with_state, int threads, SparseTable* table, const Interrupt* interrupt) {
  const Status loaded = ParallelFor(
      saved.rows() > 10'000 ? threads : 1, static_cast<uint64_t>(shards.count), [&](uint64_t i) {
        return LoadShard(reader, saved, shards.first + static_cast<int>(i), with_state, table,
                         interrupt);
      });
  return Annotate(loaded, fmt::format("table {}", saved.name));
}

StatusOr<SavedValues> ReadValues(const CheckpointReader& reader, const SavedParameter& saved,
                                 int64_t length, int states) {
  SavedValues values;
  values.weights.resize(static_cast<size_t>(length));
  values.state.resize(static_cast<size_t>(states * length));
  FL_RETURN_IF_ERROR(reader.ReadParameter(saved, values.weights, values.state));
  return values;
}

Status LoadModelParts(const CheckpointReader& reader, const ModelSpec& spec, const LoadParts& parts,
                      int threads, const LoadTarget& target) {
  const Manifest& manifest = reader.manifest();
  std::vector<std::pair<const SavedTable*, SparseTable*>> tables;
  for (const int t : parts.tables) {
    SparseTable* table = target.tables[t];
    const int states = parts.optimizer_state ? table->layout().states : 0;
    FL_ASSIGN_OR_RETURN(const SavedTable* saved, FindSaved(manifest, spec.tables[t], states));
    FL_RETURN_IF_ERROR(CheckEmpty(*table));
    tables.emplace_back(saved, table);
  }
  std::vector<std::pair<int, SavedValues>> dense;
  for (size_t i = 0; i < target.slices.size(); ++i) {
    const DenseSlice& slice = target.slices[i];
    const auto index = static_cast<int>(i);
    if (std::count(parts.parameters.begin(), parts.parameters.end(), slice.parameter) == 0) {
      continue;
    }
    const ParameterSpec& parameter = spec.parameters[slice.parameter];
    const int states = parts.optimizer_state ? target.dense->states(index) : 0;
    FL_ASSIGN_OR_RETURN(const SavedParameter* saved, FindSaved(manifest, parameter, states));
    FL_ASSIGN_OR_RETURN(const SavedValues whole,
                        ReadValues(reader, *saved, parameter.size(), states));
    dense.emplace_back(index, PartOf(whole, slice));
  }
  for (const auto& [saved, table] : tables) {
    FL_RETURN_IF_ERROR(LoadTable(reader, *saved, target.shards, parts.optimizer_state, threads,
                                 table, target.interrupt));
  }
  for (const auto& [index, values] : dense) {
    target.dense->Restore(index, values.weights, values.state);
  }
  return absl::OkStatus();
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
