#include "flotilla/server/server_checkpoint.h"

#include <algorithm>
#include <utility>

#include "flotilla/checkpoint/reader.h"
#include "flotilla/table/dense_table.h"
#include "flotilla/table/table_checkpoint.h"

namespace flotilla {

ServerCheckpoint::ServerCheckpoint(ServerTables* tables, std::string name,
                                   const WriterOptions& options, const Interrupt* end_loads)
    : tables_(tables), name_(std::move(name)), options_(options), end_loads_(end_loads) {}

ServerCheckpoint::~ServerCheckpoint() {
  give_up_ = true;
  if (thread_.joinable()) thread_.join();
}

StatusOr<std::shared_ptr<const ServerSave>> ServerCheckpoint::Begin(const SaveTicket& ticket,
                                                                    std::vector<int> tables,
                                                                    bool optimizer_state,
                                                                    int64_t step) {
  MutexLock lock(mutex_);
  // Its cuts would stay open, because its end has already been requested.
  if (ended_[ticket.trainer] > ticket.sequence) return FailedPrecondition("the save has ended");
  if (busy_) return FailedPrecondition("a model is being saved or loaded");
  EndLocked();
  auto save = std::make_shared<ServerSave>();
  save->step = step;
  save->optimizer_state = optimizer_state;
  save->dense = tables_->dense_table().Cut(optimizer_state);
  for (const int table : tables) {
    const Status status = tables_->table(table).BeginCut();
    if (!status.ok()) {
      for (const int begun : save->tables) tables_->table(begun).EndCut();
      return status;
    }
    save->tables.push_back(table);
  }
  save_ = save;
  owner_ = ticket.trainer;
  return save_;
}

void ServerCheckpoint::End(const SaveTicket& ticket, std::function<void()> done) {
  {
    MutexLock lock(mutex_);
    uint64_t& ended = ended_[ticket.trainer];
    ended = std::max(ended, ticket.sequence);
    // The end of a rejected save must not end the save that is being written.
    const bool own = save_ != nullptr && owner_ == ticket.trainer;
    if (own && busy_) {
      give_up_ = true;
      ends_.push_back(std::move(done));
      return;
    }
    if (own) EndLocked();
  }
  done();
}

bool ServerCheckpoint::begun() {
  MutexLock lock(mutex_);
  return save_ != nullptr;
}

void ServerCheckpoint::EndLocked() {
  if (save_ != nullptr) {
    for (const int table : save_->tables) tables_->table(table).EndCut();
  }
  save_ = nullptr;
  chunk_ = nullptr;
}

void ServerCheckpoint::Rest() {
  std::vector<std::function<void()>> ends;
  {
    MutexLock lock(mutex_);
    busy_ = false;
    ends.swap(ends_);
    if (!ends.empty()) EndLocked();
  }
  for (const auto& done : ends) done();
}

bool ServerCheckpoint::RunLocked(std::function<void()> work) {
  if (busy_) return false;
  if (thread_.joinable()) thread_.join();
  busy_ = true;
  give_up_ = false;
  thread_ = std::thread([work = std::move(work)] { work(); });
  return true;
}

void ServerCheckpoint::Write(const std::string& directory,
                             std::function<void(StatusOr<std::string>)> done) {
  {
    MutexLock lock(mutex_);
    const auto work = [this, directory, save = save_, done] {
      StatusOr<std::string> part = WriteNow(directory, *save);
      Rest();
      done(std::move(part));
    };
    if (save_ != nullptr && RunLocked(work)) return;
  }
  done(FailedPrecondition("no save was begun, or one is being written"));
}

StatusOr<std::string> ServerCheckpoint::WriteNow(const std::string& directory,
                                                 const ServerSave& save) {
  PartWriter part(directory, name_, options_);
  for (const int table : save.tables) {
    FL_RETURN_IF_ERROR(
        WriteTable(tables_->table(table), shards(), save.optimizer_state, &part, &give_up_));
  }
  return part.part().ToText();
}

Status ServerCheckpoint::CheckBegunLocked(int table) const {
  if (save_ == nullptr || busy_ ||
      std::count(save_->tables.begin(), save_->tables.end(), table) == 0) {
    return FailedPrecondition("no save of table {} was begun, or it is being written", table);
  }
  return absl::OkStatus();
}

StatusOr<std::vector<uint64_t>> ServerCheckpoint::Count(int table) {
  MutexLock lock(mutex_);
  FL_RETURN_IF_ERROR(CheckBegunLocked(table));
  std::vector<uint64_t> counts;
  for (int shard = shards().first; shard < shards().end(); ++shard) {
    counts.push_back(static_cast<uint64_t>(tables_->table(table).CutRows(shard)));
  }
  return counts;
}

StatusOr<std::shared_ptr<const ServerCheckpoint::Chunk>> ServerCheckpoint::Read(int table,
                                                                                int first_shard,
                                                                                uint64_t max_rows) {
  MutexLock lock(mutex_);
  FL_RETURN_IF_ERROR(CheckBegunLocked(table));
  if (first_shard < shards().first || first_shard >= shards().end()) {
    return InvalidArgument("virtual shard {} is not one of this server's", first_shard);
  }
  auto chunk = std::make_shared<Chunk>();
  StoredRows& rows = chunk->rows;
  SparseTable& from = tables_->table(table);
  const bool with_state = save_->optimizer_state;
  const bool with_meta = with_state && from.spec().keep_meta;
  max_rows = std::clamp<uint64_t>(max_rows, 1, kMaxStoredRows);
  int shard = first_shard;
  for (; shard < shards().end() && rows.ids.size() < max_rows; ++shard) {
    FL_RETURN_IF_ERROR(from.ReadCut(shard, RowOrder::kAscendingId, [&](const RowView& row) {
      rows.ids.push_back(row.id);
      rows.weights.insert(rows.weights.end(), row.weights.begin(), row.weights.end());
      if (with_meta) rows.meta.push_back(StoredRows::Meta(row.meta.pushes, row.meta.last_step));
      if (!with_state) return;
      rows.state.insert(rows.state.end(), row.state.begin(), row.state.end());
    }));
  }
  chunk->next_shard = shard;
  chunk_ = chunk;
  return chunk_;
}

void ServerCheckpoint::Load(const std::string& directory, const LoadParts& parts,
                            std::function<void(StatusOr<int64_t>)> done) {
  {
    MutexLock lock(mutex_);
    const auto work = [this, directory, parts, done] {
      StatusOr<int64_t> step = LoadNow(directory, parts);
      Rest();
      done(std::move(step));
    };
    if (RunLocked(work)) return;
  }
  done(FailedPrecondition("a model is being saved or loaded"));
}

StatusOr<int64_t> ServerCheckpoint::LoadNow(const std::string& directory, const LoadParts& parts,
                                            int threads) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  if (threads <= 0) threads = cores;
  FL_ASSIGN_OR_RETURN(const auto reader,
                      CheckpointReader::Open(directory, {.threads = threads, .shards = shards()}));
  LoadTarget target{.tables = {},
                    .shards = shards(),
                    .dense = &tables_->dense_table(),
                    .slices = tables_->slices(),
                    .interrupt = end_loads_};
  for (int t = 0; t < tables_->tables(); ++t) target.tables.push_back(&tables_->table(t));
  const ServerTables::DenseChange change(tables_);
  FL_RETURN_IF_ERROR(LoadModelParts(*reader, tables_->spec(), parts, threads, target));
  const CheckpointInfo& info = reader->manifest().info;
  tables_->SetSeed(info.seed);
  return info.step;
}

Status ServerCheckpoint::CheckTablesEmpty(std::span<const int> tables) const {
  for (const int t : tables) FL_RETURN_IF_ERROR(CheckEmpty(tables_->table(t)));
  return absl::OkStatus();
}

Status ServerCheckpoint::LoadRows(int table, const StoredRows& rows) {
  FL_RETURN_IF_ERROR(tables_->CheckIds(static_cast<uint32_t>(table), rows.ids));
  SparseTable& to = tables_->table(table);
  // A table that is not trained has no state, whatever was saved.
  const auto states = static_cast<size_t>(to.layout().states);
  const std::span<const float> state = states > 0 ? rows.state : std::span<const float>();
  if (!state.empty() && state.size() != rows.weights.size() * states) {
    return InvalidArgument("table {}: {} floats of state for {} rows", to.spec().name,
                           rows.state.size(), rows.ids.size());
  }
  std::vector<RowMeta> meta;
  for (const uint64_t packed : rows.meta) {
    meta.push_back(
        {.pushes = StoredRows::Pushes(packed), .last_step = StoredRows::LastStep(packed)});
  }
  return to.LoadRows({.ids = rows.ids, .weights = rows.weights, .state = state, .meta = meta});
}

Status ServerCheckpoint::LoadDense(int parameter, std::span<const float> weights,
                                   std::span<const float> state) {
  for (size_t i = 0; i < tables_->slices().size(); ++i) {
    const DenseSlice& slice = tables_->slices()[i];
    if (slice.parameter != parameter) continue;
    const ServerTables::DenseChange change(tables_);
    DenseTable& dense = tables_->dense_table();
    const auto index = static_cast<int>(i);
    const size_t states = weights.size() * static_cast<size_t>(dense.states(index));
    // A parameter that is not trained has no state, whatever was saved.
    if (states == 0) state = {};
    if (weights.size() != static_cast<size_t>(slice.length) ||
        (!state.empty() && state.size() != states)) {
      return InvalidArgument("parameter {}: {} weights and {} floats of state for a part of {}",
                             parameter, weights.size(), state.size(), slice.length);
    }
    dense.Restore(index, weights, state);
    return absl::OkStatus();
  }
  return InvalidArgument("parameter {}: no part of it is here", parameter);
}

}  // namespace flotilla
