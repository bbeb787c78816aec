#include "flotilla/checkpoint/writer.h"

#include <algorithm>
#include <utility>

#include "flotilla/checkpoint/safetensors.h"

namespace flotilla {
namespace {

// Buffer size of a column, in bytes.
constexpr size_t kColumnBytes = size_t{1} << 18;

// Converts `text` to a valid part of a file name.
std::string FileWord(std::string_view text) {
  std::string word(text.substr(0, 64));
  for (char& c : word) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!plain && c != '_' && c != '-') c = '_';
  }
  return word;
}

std::vector<int64_t> WithFront(int64_t front, const std::vector<int64_t>& shape) {
  std::vector<int64_t> all = {front};
  all.insert(all.end(), shape.begin(), shape.end());
  return all;
}

}  // namespace

// ---- TableWriter ----

TableWriter::TableWriter(SavedTable table, std::span<const int64_t> shard_rows)
    : table_(std::move(table)), starts_(1, 0) {
  for (const int64_t rows : shard_rows) starts_.push_back(starts_.back() + rows);
  table_.parts[0].rows = static_cast<int64_t>(starts_.back());
}

TableWriter::~TableWriter() = default;

Status TableWriter::Open(const std::string& directory, const std::string& file) {
  table_.parts[0].file = file;
  const int64_t rows = table_.parts[0].rows;
  SafetensorsHeader header;
  header.tensors = {{"shard_starts", "U64", {static_cast<int64_t>(starts_.size())}},
                    {"ids", "U64", {rows}},
                    {"weights", "F32", {rows, table_.dim}}};
  if (table_.states > 0)
    header.tensors.push_back({"state", "F32", {rows, table_.states, table_.dim}});
  if (table_.meta) header.tensors.push_back({"meta", "U32", {rows, 2}});
  FL_ASSIGN_OR_RETURN(const std::string start, header.Lay({{"table", table_.name}}));
  FL_ASSIGN_OR_RETURN(file_,
                      BlockFileWriter::Make(directory + "/" + file, file, header.file_bytes));
  FL_RETURN_IF_ERROR(file_->Write(0, start));
  FL_RETURN_IF_ERROR(
      file_->Write(header.tensors[0].offset, BytesOf(std::span<const uint64_t>(starts_))));
  for (size_t t = 1; t < header.tensors.size(); ++t) {
    columns_.push_back({.offset = header.tensors[t].offset, .bytes = {}});
    columns_.back().bytes.reserve(kColumnBytes);
  }
  return absl::OkStatus();
}

Status TableWriter::CheckRow(uint64_t id) {
  while (shard_ + 1 < static_cast<int>(starts_.size()) && row_ == starts_[shard_ + 1]) ++shard_;
  const bool first = row_ == starts_[shard_];
  if (shard_ + 1 == static_cast<int>(starts_.size()) ||
      VirtualShard(id) != table_.parts[0].shards.first + shard_ || (!first && id <= last_id_)) {
    return Internal("table {}: id {} is not in the announced order", table_.name, id);
  }
  return absl::OkStatus();
}

void TableWriter::Append(std::string_view bytes, Column* column) {
  column->bytes.insert(column->bytes.end(), bytes.begin(), bytes.end());
  if (column->bytes.size() >= kColumnBytes && status_.ok()) status_ = Flush(column);
}

void TableWriter::Add(uint64_t id, std::span<const float> weights, std::span<const float> state,
                      uint32_t pushes, uint32_t last_step) {
  if (!status_.ok()) return;
  status_ = CheckRow(id);
  if (!status_.ok()) return;
  size_t column = 0;
  Append(BytesOf(std::span<const uint64_t>(&id, 1)), &columns_[column++]);
  Append(BytesOf(weights), &columns_[column++]);
  if (table_.states > 0) Append(BytesOf(state), &columns_[column++]);
  const uint32_t meta[2] = {pushes, last_step};
  if (table_.meta) Append(BytesOf(std::span<const uint32_t>(meta)), &columns_[column++]);
  last_id_ = id;
  ++row_;
}

Status TableWriter::Flush(Column* column) {
  const Status status = file_->Write(column->offset, {column->bytes.data(), column->bytes.size()});
  column->offset += static_cast<int64_t>(column->bytes.size());
  column->bytes.clear();
  return status;
}

StatusOr<SavedFile> TableWriter::Finish(bool sync) {
  FL_RETURN_IF_ERROR(status_);
  if (row_ != starts_.back()) {
    return Internal("table {}: {} rows were written, {} were announced", table_.name, row_,
                    starts_.back());
  }
  for (Column& column : columns_) FL_RETURN_IF_ERROR(Flush(&column));
  return file_->Finish(sync);
}

// ---- PartWriter ----

PartWriter::PartWriter(std::string directory, std::string name, WriterOptions options)
    : directory_(std::move(directory)), name_(FileWord(name)), options_(options) {}

Status PartWriter::WriteParameters(std::span<const ParameterValues> parameters) {
  if (parameters.empty()) return absl::OkStatus();
  const std::string name = fmt::format("dense.{}.safetensors", name_);
  SafetensorsHeader header;
  for (const ParameterValues& p : parameters) {
    SavedParameter saved{.name = p.name,
                         .shape = p.shape,
                         .states = p.states,
                         .file = name,
                         .tensor = p.name,
                         .state_tensor = p.states > 0 ? p.name + "/state" : ""};
    header.tensors.push_back({saved.tensor, "F32", p.shape});
    if (p.states > 0) {
      header.tensors.push_back({saved.state_tensor, "F32", WithFront(p.states, p.shape)});
    }
    part_.parameters.push_back(std::move(saved));
  }
  FL_ASSIGN_OR_RETURN(const std::string start, header.Lay({}));
  FL_ASSIGN_OR_RETURN(auto file,
                      BlockFileWriter::Make(directory_ + "/" + name, name, header.file_bytes));
  FL_RETURN_IF_ERROR(file->Write(0, start));
  auto tensor = header.tensors.begin();
  for (const ParameterValues& p : parameters) {
    FL_CHECK(static_cast<int64_t>(p.weights.size_bytes()) == tensor->bytes);
    FL_RETURN_IF_ERROR(file->Write((tensor++)->offset, BytesOf(p.weights)));
    if (p.states == 0) continue;
    FL_CHECK(static_cast<int64_t>(p.state.size_bytes()) == tensor->bytes);
    FL_RETURN_IF_ERROR(file->Write((tensor++)->offset, BytesOf(p.state)));
  }
  FL_ASSIGN_OR_RETURN(SavedFile written, file->Finish(options_.sync));
  part_.files.push_back(std::move(written));
  return absl::OkStatus();
}

StatusOr<TableWriter*> PartWriter::BeginTable(const SavedTable& table, ShardRange shards,
                                              std::span<const int64_t> shard_rows) {
  FL_CHECK(static_cast<int>(shard_rows.size()) == shards.count);
  SavedTable own = table;
  own.parts = {{.file = "", .shards = shards, .rows = 0}};
  table_.reset(new TableWriter(std::move(own), shard_rows));
  const std::string file =
      fmt::format("table-{}-{}.{}.safetensors", part_.tables.size(), FileWord(table.name), name_);
  FL_RETURN_IF_ERROR(table_->Open(directory_, file));
  return table_.get();
}

Status PartWriter::FinishTable() {
  FL_CHECK(table_ != nullptr);
  FL_ASSIGN_OR_RETURN(SavedFile written, table_->Finish(options_.sync));
  part_.files.push_back(std::move(written));
  part_.tables.push_back(table_->table_);
  table_.reset();
  return absl::OkStatus();
}

// ---- CheckpointWriter ----

CheckpointWriter::CheckpointWriter(ModelDirSave save, WriterOptions options)
    : save_(std::move(save)), options_(options) {}

StatusOr<std::unique_ptr<CheckpointWriter>> CheckpointWriter::Begin(const std::string& dir,
                                                                    WriterOptions options) {
  FL_ASSIGN_OR_RETURN(ModelDirSave save, ModelDirSave::Begin(dir, options.exchange));
  return std::unique_ptr<CheckpointWriter>(new CheckpointWriter(std::move(save), options));
}

Status CheckpointWriter::Commit(CheckpointInfo info, std::span<const CheckpointPart> parts) {
  FL_ASSIGN_OR_RETURN(const Manifest manifest, Manifest::Join(std::move(info), parts));
  FL_ASSIGN_OR_RETURN(const std::string text, manifest.ToText());
  FL_ASSIGN_OR_RETURN(auto file,
                      BlockFileWriter::Make(temporary() + "/" + kManifestName, kManifestName,
                                            static_cast<int64_t>(text.size())));
  FL_RETURN_IF_ERROR(file->Write(0, text));
  FL_RETURN_IF_ERROR(file->Finish(options_.sync).status());
  return save_.Commit(options_.sync);
}

}  // namespace flotilla
