#include "flotilla/server/server_checkpoint.h"

#include <algorithm>
#include <utility>

#include "flotilla/checkpoint/reader.h"
#include "flotilla/table/table_checkpoint.h"

namespace flotilla {

ServerCheckpoint::ServerCheckpoint(ServerTables* tables, std::string name,
                                   const WriterOptions& options)
    : tables_(tables), name_(std::move(name)), options_(options) {}

ServerCheckpoint::~ServerCheckpoint() {
  if (thread_.joinable()) thread_.join();
}

ShardRange ServerCheckpoint::shards() const {
  return {.first = tables_->first_shard(), .count = tables_->end_shard() - tables_->first_shard()};
}

StatusOr<std::shared_ptr<const ServerSave>> ServerCheckpoint::Begin(std::vector<int> tables,
                                                                    bool optimizer_state,
                                                                    int64_t step) {
  std::lock_guard lock(mutex_);
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
  return save_;
}

void ServerCheckpoint::End() {
  std::lock_guard lock(mutex_);
  if (busy_) {
    end_later_ = true;
  } else {
    EndLocked();
  }
}

void ServerCheckpoint::EndLocked() {
  if (save_ != nullptr) {
    for (const int table : save_->tables) tables_->table(table).EndCut();
  }
  save_ = nullptr;
  end_later_ = false;
}

void ServerCheckpoint::Rest() {
  std::lock_guard lock(mutex_);
  busy_ = false;
  if (end_later_) EndLocked();
}

bool ServerCheckpoint::RunLocked(std::function<void()> work) {
  if (busy_) return false;
  if (thread_.joinable()) thread_.join();
  busy_ = true;
  thread_ = std::thread([work = std::move(work)] { work(); });
  return true;
}

void ServerCheckpoint::Write(const std::string& directory,
                             std::function<void(StatusOr<std::string>)> done) {
  {
    std::lock_guard lock(mutex_);
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
    FL_RETURN_IF_ERROR(WriteTable(tables_->table(table), shards(), save.optimizer_state, &part));
  }
  return part.part().ToText();
}

void ServerCheckpoint::Load(const std::string& directory, const ServerLoad& load,
                            std::function<void(StatusOr<int64_t>)> done) {
  {
    std::lock_guard lock(mutex_);
    const auto work = [this, directory, load, done] {
      StatusOr<int64_t> step = LoadNow(directory, load);
      Rest();
      done(std::move(step));
    };
    if (RunLocked(work)) return;
  }
  done(FailedPrecondition("a model is being saved or loaded"));
}

StatusOr<int64_t> ServerCheckpoint::LoadNow(const std::string& directory, const ServerLoad& load) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const int threads = load.threads > 0 ? load.threads : cores;
  FL_ASSIGN_OR_RETURN(const auto reader,
                      CheckpointReader::Open(directory, {.threads = threads, .shards = shards()}));
  const Manifest& manifest = reader->manifest();
  const ModelSpec& spec = tables_->spec();
  for (const int t : load.tables) {
    const SavedTable* saved = manifest.FindTable(spec.tables[t].name);
    SparseTable& table = tables_->table(t);
    if (saved == nullptr) return NotFound("{} has no table {}", directory, spec.tables[t].name);
    const int states = load.optimizer_state ? table.layout().states : 0;
    FL_RETURN_IF_ERROR(Annotate(CheckTableFits(*saved, spec.tables[t], states),
                                fmt::format("table {}", spec.tables[t].name)));
    if (table.size() != 0) {
      return FailedPrecondition("table {} has {} rows already: load into a model that is new",
                                spec.tables[t].name, table.size());
    }
  }
  FL_RETURN_IF_ERROR(LoadDense(*reader, load));
  for (const int t : load.tables) {
    FL_RETURN_IF_ERROR(LoadTable(*reader, *manifest.FindTable(spec.tables[t].name), shards(),
                                 load.optimizer_state, threads, &tables_->table(t)));
  }
  tables_->SetSeed(manifest.info.seed);
  return manifest.info.step;
}

Status ServerCheckpoint::LoadDense(const CheckpointReader& reader, const ServerLoad& load) {
  const ModelSpec& spec = tables_->spec();
  DenseTable& dense = tables_->dense_table();
  for (size_t i = 0; i < tables_->slices().size(); ++i) {
    const DenseSlice& slice = tables_->slices()[i];
    const ParameterSpec& parameter = spec.parameters[slice.parameter];
    if (std::count(load.parameters.begin(), load.parameters.end(), slice.parameter) == 0) continue;
    const SavedParameter* saved = reader.manifest().FindParameter(parameter.name);
    if (saved == nullptr || saved->shape != parameter.shape) {
      return InvalidArgument("parameter {}: missing in {}, or of another shape", parameter.name,
                             reader.dir());
    }
    const auto index = static_cast<int>(i);
    const auto states = static_cast<size_t>(load.optimizer_state ? dense.states(index) : 0);
    if (load.optimizer_state && states != static_cast<size_t>(saved->states)) {
      return InvalidArgument("parameter {}: {} arrays of state there, {} here", parameter.name,
                             saved->states, states);
    }
    const auto size = static_cast<size_t>(parameter.size());
    std::vector<float> weights(size), state(states * size), part;
    FL_RETURN_IF_ERROR(reader.ReadParameter(*saved, weights, state));
    for (size_t s = 0; s < states; ++s) {
      const auto from = state.begin() + static_cast<ptrdiff_t>(s * size) + slice.begin;
      part.insert(part.end(), from, from + slice.length);
    }
    const auto values = std::span(weights).subspan(slice.begin, slice.length);
    if (load.optimizer_state) {
      dense.Restore(index, values, part);
    } else {
      dense.Write(index, values);
    }
  }
  return absl::OkStatus();
}

}  // namespace flotilla
