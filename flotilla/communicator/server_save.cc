#include "flotilla/communicator/server_save.h"

#include <utility>
#include <vector>

#include "flotilla/checkpoint/reader.h"
#include "flotilla/checkpoint/writer.h"
#include "flotilla/communicator/match_model.h"
#include "flotilla/table/table_checkpoint.h"

namespace flotilla {
namespace {

// Sends rows of a saved table to the servers, in chunks.
Status SendTable(const CheckpointReader& reader, const SavedTable& saved, bool with_state,
                 int table, PsClient* client) {
  const auto columns =
      with_state ? CheckpointReader::Columns::kAll : CheckpointReader::Columns::kWeights;
  StoredRows rows;
  for (int shard = 0; shard < kVirtualShards; ++shard) {
    const int server = ServerOfShard(shard, client->servers());
    FL_RETURN_IF_ERROR(reader.ReadRows(saved, shard, columns, [&](const TableRows& some) {
      rows.ids.insert(rows.ids.end(), some.ids.begin(), some.ids.end());
      rows.weights.insert(rows.weights.end(), some.weights.begin(), some.weights.end());
      rows.state.insert(rows.state.end(), some.state.begin(), some.state.end());
      for (size_t i = 0; i < some.meta.size(); i += 2) {
        rows.meta.push_back(StoredRows::Meta(some.meta[i], some.meta[i + 1]));
      }
      return absl::OkStatus();
    }));
    const bool last =
        shard + 1 == kVirtualShards || ServerOfShard(shard + 1, client->servers()) != server;
    if (rows.ids.empty() || (!last && rows.ids.size() < client->options().stored_rows)) continue;
    FL_RETURN_IF_ERROR(client->LoadRows(server, table, rows));
    rows.Clear();
  }
  return absl::OkStatus();
}

// Does the work of client->Load for servers that cannot access the directory.
Status LoadForServers(const CheckpointReader& reader, const ModelMatch& match,
                      const LoadParts& parts, PsClient* client) {
  FL_RETURN_IF_ERROR(client->BeginLoad(parts));
  for (const auto& [p, saved] : match.parameters) {
    const int states = parts.optimizer_state ? saved->states : 0;
    FL_ASSIGN_OR_RETURN(const SavedValues values,
                        ReadValues(reader, *saved, client->layout().length(p), states));
    FL_RETURN_IF_ERROR(client->LoadDense(p, values.weights, values.state));
  }
  for (const auto& [t, saved] : match.tables) {
    FL_RETURN_IF_ERROR(Annotate(SendTable(reader, *saved, parts.optimizer_state, t, client),
                                fmt::format("table {}", saved->name)));
  }
  const CheckpointInfo& info = reader.manifest().info;
  return client->EndLoad(parts.go_on ? info.step : 0, info.seed);
}

class ServerSave : public PendingSave {
 public:
  ServerSave(PsClient* client, CheckpointInfo info, ChosenParameters chosen, SavedDense dense)
      : client_(client),
        info_(std::move(info)),
        parameters_(std::move(chosen.parameters)),
        tables_(std::move(chosen.tables)),
        dense_(std::move(dense)) {}
  ~ServerSave() override { End(); }

  int64_t global_step() const override { return info_.step; }

  Status Write(const std::string& dir, const Sections& sections) override {
    return Annotate(WriteAll(dir, sections), fmt::format("save {}", dir));
  }

 private:
  Status WriteAll(const std::string& dir, const Sections& sections) {
    FL_ASSIGN_OR_RETURN(const auto writer, CheckpointWriter::Begin(dir, {}));
    std::vector<CheckpointPart> parts;
    if (const Status status = WriteParts(writer->temporary(), &parts); !status.ok()) {
      // Other servers may still be writing: the directory must not be removed meanwhile.
      End();
      return status;
    }
    CheckpointInfo info = info_;
    info.sections = sections;
    return writer->Commit(std::move(info), parts);
  }

  // Returns when no server writes any more. A server that cannot be reached has ended, and the job
  // with it: the next call reports that.
  void End() {
    if (!std::exchange(ended_, true)) client_->EndSave().IgnoreError();
  }

  Status WriteParts(const std::string& directory, std::vector<CheckpointPart>* parts) {
    PartWriter part(directory, "dense", {});
    FL_RETURN_IF_ERROR(part.WriteParameters(
        ValuesOf(client_->spec(), client_->layout(), parameters_, dense_.weights, dense_.states)));
    parts->push_back(part.part());
    return client_->options().shared_storage ? LetServersWrite(directory, parts)
                                             : WriteForServers(directory, parts);
  }

  Status LetServersWrite(const std::string& directory, std::vector<CheckpointPart>* parts) {
    FL_ASSIGN_OR_RETURN(const std::vector<std::string> texts, client_->WriteSave(directory));
    for (const std::string& text : texts) {
      FL_ASSIGN_OR_RETURN(CheckpointPart part, CheckpointPart::FromText(text));
      parts->push_back(std::move(part));
    }
    return absl::OkStatus();
  }

  Status WriteForServers(const std::string& directory, std::vector<CheckpointPart>* parts) {
    for (int server = 0; server < client_->servers(); ++server) {
      PartWriter part(directory, fmt::format("server-{}", server), {});
      for (const int table : tables_) {
        FL_RETURN_IF_ERROR(Annotate(WriteTableOf(server, table, &part),
                                    fmt::format("table {}", client_->spec().tables[table].name)));
      }
      parts->push_back(part.part());
    }
    return absl::OkStatus();
  }

  // Writes the rows of a table that a server sends, as they arrive.
  Status WriteTableOf(int server, int table, PartWriter* part) {
    const TableSpec& spec = client_->spec().tables[table];
    FL_ASSIGN_OR_RETURN(const SavedCounts counts, client_->CountSave(server, table));
    const bool with_state = info_.optimizer_state;
    const SavedTable saved{.name = spec.name,
                           .dim = spec.dim,
                           .id_limit = spec.rows,
                           .states = with_state ? counts.states : 0,
                           .meta = with_state && counts.meta,
                           .parts = {}};
    const ShardRange shards = ShardsOf(server, client_->servers());
    FL_ASSIGN_OR_RETURN(TableWriter * out, part->BeginTable(saved, shards, counts.shard_rows));
    StoredRows rows;
    for (int shard = shards.first; shard < shards.end() && out->status().ok();) {
      FL_ASSIGN_OR_RETURN(shard, client_->ReadSave(server, table, shard, &rows));
      FL_RETURN_IF_ERROR(AddRows(rows, saved, out));
    }
    return part->FinishTable();
  }

  static Status AddRows(const StoredRows& rows, const SavedTable& saved, TableWriter* out) {
    const auto dim = static_cast<size_t>(saved.dim), state = dim * saved.states;
    const size_t meta = saved.meta ? rows.ids.size() : 0;
    if (rows.state.size() != rows.ids.size() * state || rows.meta.size() != meta) {
      return InvalidArgument("{} floats of state and {} meta for {} rows", rows.state.size(),
                             rows.meta.size(), rows.ids.size());
    }
    for (size_t i = 0; i < rows.ids.size(); ++i) {
      const uint64_t packed = saved.meta ? rows.meta[i] : 0;
      out->Add(rows.ids[i], std::span(rows.weights).subspan(i * dim, dim),
               std::span(rows.state).subspan(i * state, state), StoredRows::Pushes(packed),
               StoredRows::LastStep(packed));
    }
    return absl::OkStatus();
  }

  PsClient* const client_;
  const CheckpointInfo info_;
  const std::vector<int> parameters_, tables_;
  const SavedDense dense_;
  bool ended_ = false;
};

}  // namespace

StatusOr<std::unique_ptr<PendingSave>> BeginServerSave(PsClient* client,
                                                       const SaveContents& contents,
                                                       bool has_state) {
  const ModelSpec& spec = client->spec();
  FL_ASSIGN_OR_RETURN(ChosenParameters chosen, ChooseParameters(spec, contents));
  const bool with_state = contents.optimizer_state && has_state;
  StatusOr<SavedDense> dense = client->BeginSave(chosen.tables, with_state);
  if (!dense.ok()) {
    // Some servers may have begun.
    client->EndSave().IgnoreError();
    return dense.status();
  }
  CheckpointInfo info{.step = dense->step,
                      .seed = client->seed(),
                      .optimizer_state = with_state,
                      .inference = !contents.optimizer_state,
                      .optimizer = spec.optimizer,
                      .sections = {}};
  return std::make_unique<ServerSave>(client, std::move(info), std::move(chosen),
                                      *std::move(dense));
}

StatusOr<LoadedModel> LoadIntoServers(PsClient* client, const std::string& dir,
                                      const LoadOptions& options, bool has_state) {
  LoadOptions wanted = options;
  wanted.optimizer_state = options.optimizer_state && has_state;
  // Verified here for a clear error; every server verifies again what it reads.
  auto reader = CheckpointReader::Open(dir, {.threads = options.threads});
  if (!reader.ok()) return Annotate(reader.status(), fmt::format("load {}", dir));
  const Manifest& manifest = (*reader)->manifest();
  auto match = MatchModel(client->spec(), manifest, wanted);
  if (!match.ok()) return Annotate(match.status(), fmt::format("load {}", dir));
  const LoadParts parts = match->Parts(options.optimizer_state && !match->fresh_optimizer);
  FL_RETURN_IF_ERROR(client->options().shared_storage
                         ? client->Load(dir, parts)
                         : LoadForServers(**reader, *match, parts, client));
  return match->Loaded(manifest.info);
}

}  // namespace flotilla
