#include "flotilla/dataset/cache_store.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "flotilla/base/hash.h"
#include "flotilla/base/text_file.h"
#include "flotilla/dataset/each_batch.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;

std::string AbsolutePath(const std::string& path) {
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

// Reduces the text to one line: the value of a key must not contain a line end.
std::string OneLine(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

std::vector<InputSpec> InputsOf(const Parser& parser) {
  return {parser.inputs().begin(), parser.inputs().end()};
}

}  // namespace

StatusOr<std::unique_ptr<CacheStore>> CacheStore::Make(std::vector<std::string> sources,
                                                       std::shared_ptr<const Parser> parser,
                                                       const StreamOptions& options) {
  for (const std::string& source : sources) {
    if (source == "-" || options.reader.source.scheme_commands.contains(SchemeOf(source))) {
      return InvalidArgument("{}: cannot be cached: its changes cannot be detected", source);
    }
  }
  std::error_code error;
  fs::create_directories(options.cache, error);
  if (error) return InvalidArgument("cache {}: {}", options.cache, error.message());
  return std::unique_ptr<CacheStore>(
      new CacheStore(std::move(sources), std::move(parser), options));
}

CacheStore::CacheStore(std::vector<std::string> sources, std::shared_ptr<const Parser> parser,
                       const StreamOptions& options)
    : sources_(std::move(sources)), parser_(std::move(parser)), options_(options) {}

std::string CacheStore::PathOf(const std::string& source) const {
  return fmt::format("{}/{}-{:016x}.flcache", options_.cache, fs::path(source).filename().string(),
                     HashBytes(AbsolutePath(source)));
}

StatusOr<std::string> CacheStore::KeyOf(const std::string& source) const {
  FL_ASSIGN_OR_RETURN(const FileStamp stamp, StampOf(source));
  std::string inputs;
  for (const InputSpec& input : parser_->inputs()) {
    inputs += fmt::format("{}{}:{}:{}", inputs.empty() ? "" : ",", input.name,
                          static_cast<int>(input.kind), input.width);
  }
  return fmt::format(
      "source={}\nsize={}\nmodified_ns={}\nparser={}\ninputs={}\ncommand={}\nmax_line_bytes={}\n",
      OneLine(AbsolutePath(source)), stamp.bytes, stamp.modified_ns, OneLine(parser_->identity()),
      OneLine(inputs), OneLine(options_.reader.source.pipe_command),
      options_.reader.max_line_bytes);
}

void CacheStore::Log(const std::string& line) const {
  if (options_.log) options_.log(line);
}

StatusOr<std::shared_ptr<const CacheFile>> CacheStore::Get(size_t index) {
  MutexLock lock(mutex_);
  if (open_ == nullptr || open_index_ != index) {
    FL_ASSIGN_OR_RETURN(open_, OpenOrBuild(sources_[index]));
    open_index_ = index;
  }
  return open_;
}

void CacheStore::Close() {
  MutexLock lock(mutex_);
  open_.reset();
}

StatusOr<std::shared_ptr<const CacheFile>> CacheStore::Replace(
    size_t index, const std::shared_ptr<const CacheFile>& broken, const Status& damage) {
  MutexLock lock(mutex_);
  if (open_index_ == index && open_ != nullptr && open_ != broken) return open_;
  const std::string& source = sources_[index];
  Log(fmt::format("cache of {}: damaged ({}), rebuilding it", source, Message(damage)));
  FL_ASSIGN_OR_RETURN(const std::string key, KeyOf(source));
  FL_ASSIGN_OR_RETURN(std::shared_ptr<const CacheFile> file, Build(source, key));
  if (file->rows() != broken->rows()) {
    return FailedPrecondition("{}: changed while its cache was read ({} rows, now {})", source,
                              broken->rows(), file->rows());
  }
  if (open_index_ == index) open_ = file;
  return file;
}

StatusOr<std::shared_ptr<const CacheFile>> CacheStore::OpenOrBuild(const std::string& source) {
  FL_ASSIGN_OR_RETURN(const std::string key, KeyOf(source));
  StatusOr<std::shared_ptr<const CacheFile>> file =
      CacheFile::Open(PathOf(source), key, InputsOf(*parser_));
  if (file.ok()) return file;
  const Status& status = file.status();
  if (status.code() == absl::StatusCode::kFailedPrecondition) {
    Log(fmt::format("cache of {}: {}, rebuilding it", source, Message(status)));
  } else if (status.code() == absl::StatusCode::kDataLoss) {
    Log(fmt::format("cache of {}: damaged ({}), rebuilding it", source, Message(status)));
  }
  return Build(source, key);
}

StatusOr<std::shared_ptr<const CacheFile>> CacheStore::Build(const std::string& source,
                                                             const std::string& key) {
  const std::string path = PathOf(source);
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<CacheWriter> writer,
                      CacheWriter::Make(path, key, InputsOf(*parser_)));
  FL_RETURN_IF_ERROR(ParseInto(source, writer.get()));
  FL_ASSIGN_OR_RETURN(const std::string key_after, KeyOf(source));
  if (key_after != key) return FailedPrecondition("{}: changed while it was read", source);
  StatusOr<std::shared_ptr<const CacheFile>> file = CacheFile::Open(path, key, InputsOf(*parser_));
  if (file.ok()) Log(fmt::format("cache of {}: wrote {}, {} rows", source, path, (*file)->rows()));
  return file;
}

Status CacheStore::ParseInto(const std::string& source, CacheWriter* writer) const {
  StreamOptions options = options_;
  options.batch = {.batch_size = kCacheBlockRows, .allow_empty = true};
  options.readers = 1;
  options.cache.clear();
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<BatchedDataset> rows,
                      MakeStream({source}, parser_, options));
  FL_RETURN_IF_ERROR(
      ReadEachBatch(*rows, std::max(options_.threads, 1),
                    [&](int /*worker*/, const Batch& batch) { return writer->Add(batch); }));
  const DatasetCounts counts = rows->counts();
  return writer->Finish(counts.skipped, counts.samples);
}

}  // namespace flotilla
