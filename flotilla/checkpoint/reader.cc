#include "flotilla/checkpoint/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "flotilla/base/mutex.h"
#include "flotilla/base/worker_pool.h"
#include "flotilla/checkpoint/model_dir.h"

namespace flotilla {
namespace {

// Approximate number of bytes of the rows that are read at once.
constexpr int64_t kChunkBytes = int64_t{1} << 20;
constexpr int64_t kMaxManifestBytes = int64_t{1} << 30;

// Closes a descriptor at the end of a scope.
struct Closer {
  int fd;
  ~Closer() { close(fd); }
};

template <typename T>
std::span<char> WritableBytes(std::span<T> values) {
  return {reinterpret_cast<char*>(values.data()), values.size_bytes()};
}

// Finds a tensor of a file; error when it differs from the manifest.
StatusOr<const TensorEntry*> FindTensor(const BlockFileReader& file,
                                        const SafetensorsHeader& header, const std::string& name,
                                        std::string_view dtype, const std::vector<int64_t>& shape) {
  const TensorEntry* tensor = header.Find(name);
  if (tensor == nullptr) return DataLoss("{}: has no tensor {}", file.path(), name);
  if (tensor->dtype == dtype && tensor->shape == shape) return tensor;
  return DataLoss("{}: tensor {} is {} ({}), the manifest says {} ({})", file.path(), name,
                  tensor->dtype, fmt::join(tensor->shape, ", "), dtype, fmt::join(shape, ", "));
}

StatusOr<Manifest> ReadManifestAt(int directory, const std::string& dir) {
  const std::string path = dir + "/" + kManifestName;
  const int fd = openat(directory, kManifestName, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) {
    return NotFound("{}: cannot open: {}: {} is not a model directory", path, std::strerror(errno),
                    dir);
  }
  const Closer closer{fd};
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size > kMaxManifestBytes) {
    return DataLoss("{}: is not a file of at most {} bytes", path, kMaxManifestBytes);
  }
  std::string text(static_cast<size_t>(info.st_size), '\0');
  size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got = read(fd, text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Internal("{}: cannot read: {}", path, std::strerror(errno));
    if (got == 0) break;
    filled += static_cast<size_t>(got);
  }
  text.resize(filled);
  auto manifest = Manifest::FromText(text);
  if (!manifest.ok()) return Annotate(manifest.status(), path);
  return manifest;
}

// Runs `read` on the directory; once more when the directory was replaced in the meantime, since
// the files of the old directory are removed then.
Status WithModelDir(const std::string& dir, const std::function<Status(int)>& read) {
  for (int round = 0;; ++round) {
    FL_ASSIGN_OR_RETURN(const int fd, OpenModelDir(dir));
    const Closer closer{fd};
    const Status status = read(fd);
    struct stat opened, now;
    if (status.ok() || round == 3 || fstat(fd, &opened) != 0 || stat(dir.c_str(), &now) != 0 ||
        (opened.st_ino == now.st_ino && opened.st_dev == now.st_dev)) {
      return status;
    }
  }
}

int ThreadsFor(int wanted, size_t work) {
  const int cores = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return static_cast<int>(std::clamp<size_t>(work, 1, wanted > 0 ? wanted : cores));
}

}  // namespace

CheckpointReader::CheckpointReader(std::string dir, const ReaderOptions& options)
    : dir_(std::move(dir)), options_(options) {}

CheckpointReader::~CheckpointReader() = default;

StatusOr<std::unique_ptr<CheckpointReader>> CheckpointReader::Open(const std::string& dir,
                                                                   const ReaderOptions& options) {
  std::unique_ptr<CheckpointReader> reader;
  FL_RETURN_IF_ERROR(WithModelDir(dir, [&](int directory) {
    reader.reset(new CheckpointReader(dir, options));
    return reader->OpenAll(directory);
  }));
  return reader;
}

StatusOr<Manifest> ReadManifest(const std::string& dir) {
  Manifest manifest;
  FL_RETURN_IF_ERROR(WithModelDir(dir, [&](int directory) -> Status {
    FL_ASSIGN_OR_RETURN(manifest, ReadManifestAt(directory, dir));
    return absl::OkStatus();
  }));
  return manifest;
}

Status CheckpointReader::OpenAll(int directory) {
  FL_ASSIGN_OR_RETURN(manifest_, ReadManifestAt(directory, dir_));
  for (const SavedFile& file : manifest_.files) {
    OpenFile& open = files_[file.name];
    FL_ASSIGN_OR_RETURN(open.reader,
                        BlockFileReader::Open(directory, dir_ + "/" + file.name, file));
    open.verified.resize(file.blocks.size());
  }
  for (const SavedParameter& parameter : manifest_.parameters) {
    FL_RETURN_IF_ERROR(CheckParameter(parameter));
  }
  for (const SavedTable& table : manifest_.tables) {
    for (const SavedTablePart& part : table.parts) {
      if (NeedsPart(part)) {
        FL_RETURN_IF_ERROR(CheckPart(table, part));
      } else {
        // Only its size is checked; it will not be read.
        files_.find(part.file)->second.reader.reset();
      }
    }
  }
  return VerifyAll();
}

bool CheckpointReader::NeedsPart(const SavedTablePart& part) const {
  return part.shards.first < options_.shards.end() && options_.shards.first < part.shards.end();
}

Status CheckpointReader::ReadHeader(OpenFile* file) {
  if (!file->header.tensors.empty()) return absl::OkStatus();
  const BlockFileReader& reader = *file->reader;
  const int64_t bytes = reader.file().bytes;
  std::string head(static_cast<size_t>(std::min<int64_t>(8, bytes)), '\0');
  FL_RETURN_IF_ERROR(VerifyRange(file, 0, static_cast<int64_t>(head.size())));
  FL_RETURN_IF_ERROR(reader.Read(0, head));
  const auto end = SafetensorsHeaderEnd(head, bytes);
  if (!end.ok()) return DataLoss("{}: at offset 0: {}", reader.path(), Message(end.status()));
  FL_RETURN_IF_ERROR(VerifyRange(file, 0, *end));
  head.resize(static_cast<size_t>(*end));
  FL_RETURN_IF_ERROR(reader.Read(0, head));
  auto header = ParseSafetensors(head, bytes);
  if (!header.ok()) return DataLoss("{}: at offset 8: {}", reader.path(), Message(header.status()));
  file->header = *std::move(header);
  return absl::OkStatus();
}

Status CheckpointReader::CheckParameter(const SavedParameter& parameter) {
  OpenFile& file = files_.find(parameter.file)->second;
  FL_RETURN_IF_ERROR(ReadHeader(&file));
  FL_RETURN_IF_ERROR(
      FindTensor(*file.reader, file.header, parameter.tensor, "F32", parameter.shape).status());
  if (parameter.states == 0) return absl::OkStatus();
  std::vector<int64_t> shape = {parameter.states};
  shape.insert(shape.end(), parameter.shape.begin(), parameter.shape.end());
  return FindTensor(*file.reader, file.header, parameter.state_tensor, "F32", shape).status();
}

Status CheckpointReader::CheckPart(const SavedTable& table, const SavedTablePart& part) {
  OpenFile& file = files_.find(part.file)->second;
  FL_RETURN_IF_ERROR(ReadHeader(&file));
  const auto find = [&](const char* name, const char* dtype, const std::vector<int64_t>& shape) {
    return FindTensor(*file.reader, file.header, name, dtype, shape);
  };
  FL_RETURN_IF_ERROR(find("ids", "U64", {part.rows}).status());
  FL_RETURN_IF_ERROR(find("weights", "F32", {part.rows, table.dim}).status());
  if (table.states > 0) {
    FL_RETURN_IF_ERROR(find("state", "F32", {part.rows, table.states, table.dim}).status());
  }
  if (table.meta) FL_RETURN_IF_ERROR(find("meta", "U32", {part.rows, 2}).status());
  FL_ASSIGN_OR_RETURN(const TensorEntry* starts,
                      find("shard_starts", "U64", {part.shards.count + 1}));
  return ReadShardStarts(part, *starts, &file);
}

Status CheckpointReader::ReadShardStarts(const SavedTablePart& part, const TensorEntry& starts,
                                         OpenFile* file) {
  FL_RETURN_IF_ERROR(VerifyRange(file, starts.offset, starts.offset + starts.bytes));
  file->shard_starts.resize(static_cast<size_t>(part.shards.count) + 1);
  FL_RETURN_IF_ERROR(
      file->reader->Read(starts.offset, WritableBytes(std::span(file->shard_starts))));
  const std::vector<uint64_t>& rows = file->shard_starts;
  if (rows.front() != 0 || rows.back() != static_cast<uint64_t>(part.rows) ||
      !std::is_sorted(rows.begin(), rows.end())) {
    return DataLoss("{}: shard_starts at offset {} do not ascend from 0 to {}",
                    file->reader->path(), starts.offset, part.rows);
  }
  return absl::OkStatus();
}

Status CheckpointReader::VerifyRange(OpenFile* file, int64_t begin, int64_t end) {
  std::vector<char> buffer;
  for (int64_t block = begin / kBlockBytes; block * kBlockBytes < end; ++block) {
    if (file->verified[static_cast<size_t>(block)]) continue;
    FL_RETURN_IF_ERROR(file->reader->Verify(block, &buffer));
    file->verified[static_cast<size_t>(block)] = true;
  }
  return absl::OkStatus();
}

std::vector<CheckpointReader::ByteRange> CheckpointReader::NeededRanges(
    const OpenFile& file, const SavedTablePart* part) const {
  if (part == nullptr) return {{0, file.reader->file().bytes}};
  if (!NeedsPart(*part)) return {};
  const int first = std::max(part->shards.first, options_.shards.first) - part->shards.first;
  const int end = std::min(part->shards.end(), options_.shards.end()) - part->shards.first;
  std::vector<ByteRange> ranges;
  for (const TensorEntry& tensor : file.header.tensors) {
    if (tensor.name == "shard_starts" || part->rows == 0) continue;
    const int64_t row_bytes = tensor.bytes / part->rows;
    ranges.push_back({tensor.offset + row_bytes * static_cast<int64_t>(file.shard_starts[first]),
                      tensor.offset + row_bytes * static_cast<int64_t>(file.shard_starts[end])});
  }
  return ranges;
}

// The blocks that may be read later and are not yet verified, in the order of the files.
std::vector<CheckpointReader::BlockPlace> CheckpointReader::BlocksToVerify() {
  std::map<std::string_view, const SavedTablePart*> parts;
  for (const SavedTable& table : manifest_.tables) {
    for (const SavedTablePart& part : table.parts) parts[part.file] = &part;
  }
  std::vector<BlockPlace> places;
  for (auto& [name, file] : files_) {
    const auto part = parts.find(name);
    for (const auto& [begin, end] :
         NeededRanges(file, part == parts.end() ? nullptr : part->second)) {
      for (int64_t block = begin / kBlockBytes; block * kBlockBytes < end; ++block) {
        if (file.verified[static_cast<size_t>(block)]) continue;
        file.verified[static_cast<size_t>(block)] = true;
        places.push_back({&file, block});
      }
    }
  }
  return places;
}

Status CheckpointReader::VerifyAll() {
  const std::vector<BlockPlace> places = BlocksToVerify();
  std::atomic<size_t> next = 0;
  Mutex mutex;
  std::pair<size_t, Status> first_error(places.size(), absl::OkStatus());
  WorkerPool pool(ThreadsFor(options_.threads, places.size() / 16));
  pool.Run([&](int) {
    std::vector<char> buffer;
    for (size_t at = next++; at < places.size(); at = next++) {
      const Status status = places[at].file->reader->Verify(places[at].block, &buffer);
      if (status.ok()) continue;
      MutexLock lock(mutex);
      // The error does not depend on the number of threads: it is that of the first damaged block.
      if (at < first_error.first) first_error = {at, status};
      return;
    }
  });
  return first_error.second;
}

Status CheckpointReader::ReadParameter(const SavedParameter& parameter, std::span<float> weights,
                                       std::span<float> state) const {
  const OpenFile& file = files_.find(parameter.file)->second;
  const auto read = [&](const std::string& name, std::span<float> out) -> Status {
    if (out.empty()) return absl::OkStatus();
    const TensorEntry* tensor = file.header.Find(name);
    FL_CHECK(tensor != nullptr && tensor->bytes == static_cast<int64_t>(out.size_bytes()));
    return file.reader->Read(tensor->offset, WritableBytes(out));
  };
  FL_RETURN_IF_ERROR(read(parameter.tensor, weights));
  return read(parameter.state_tensor, state);
}

// Reads rows [begin, end) of a part's columns.
Status CheckpointReader::ReadColumns(const OpenFile& file, const SavedTable& table, int64_t begin,
                                     int64_t end, Columns columns, TableRows* rows) const {
  const auto count = static_cast<size_t>(end - begin);
  const auto dim = static_cast<size_t>(table.dim);
  const auto states = columns == Columns::kAll ? static_cast<size_t>(table.states) : 0;
  rows->ids.resize(count);
  rows->weights.resize(count * dim);
  rows->state.resize(count * dim * states);
  rows->meta.resize(table.meta && columns == Columns::kAll ? 2 * count : 0);
  const auto read = [&](const char* name, std::span<char> out) -> Status {
    if (out.empty()) return absl::OkStatus();
    const auto row_bytes = static_cast<int64_t>(out.size() / count);
    return file.reader->Read(file.header.Find(name)->offset + begin * row_bytes, out);
  };
  FL_RETURN_IF_ERROR(read("ids", WritableBytes(std::span(rows->ids))));
  FL_RETURN_IF_ERROR(read("weights", WritableBytes(std::span(rows->weights))));
  FL_RETURN_IF_ERROR(read("state", WritableBytes(std::span(rows->state))));
  return read("meta", WritableBytes(std::span(rows->meta)));
}

Status CheckpointReader::CheckIds(const OpenFile& file, const SavedTable& table, int shard,
                                  int64_t first_row, std::span<const uint64_t> ids) const {
  for (size_t i = 0; i < ids.size(); ++i) {
    const bool bounded = table.id_limit > 0 && ids[i] >= static_cast<uint64_t>(table.id_limit);
    if (VirtualShard(ids[i]) == shard && (i == 0 || ids[i - 1] < ids[i]) && !bounded) continue;
    const int64_t offset =
        file.header.Find("ids")->offset + (first_row + static_cast<int64_t>(i)) * 8;
    return DataLoss("{}: id {} at offset {} is out of order", file.reader->path(), ids[i], offset);
  }
  return absl::OkStatus();
}

Status CheckpointReader::ReadRows(const SavedTable& table, int shard, Columns columns,
                                  const std::function<Status(const TableRows&)>& visit) const {
  FL_CHECK(options_.shards.contains(shard));
  const auto part = std::find_if(table.parts.begin(), table.parts.end(),
                                 [&](const SavedTablePart& p) { return p.shards.contains(shard); });
  const OpenFile& file = files_.find(part->file)->second;
  const auto at = static_cast<size_t>(shard - part->shards.first);
  const auto end = static_cast<int64_t>(file.shard_starts[at + 1]);
  const int64_t row_bytes = 16 + 4 * table.dim * (1 + table.states);
  const int64_t chunk = std::max<int64_t>(1, kChunkBytes / row_bytes);
  TableRows rows;
  for (auto begin = static_cast<int64_t>(file.shard_starts[at]); begin < end; begin += chunk) {
    FL_RETURN_IF_ERROR(
        ReadColumns(file, table, begin, std::min(end, begin + chunk), columns, &rows));
    FL_RETURN_IF_ERROR(CheckIds(file, table, shard, begin, rows.ids));
    FL_RETURN_IF_ERROR(visit(rows));
  }
  return absl::OkStatus();
}

}  // namespace flotilla
