#include "flotilla/dataset/cache_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <utility>

#include "flotilla/base/hash.h"
#include "flotilla/dataset/cache_block.h"

namespace flotilla {
namespace {

constexpr std::string_view kMagic = "FLCACHE\n";
constexpr std::string_view kEndMagic = "FLCEND.\n";
constexpr uint32_t kCacheVersion = 2;
constexpr size_t kHeadBytes = 16;     // magic, version, size of the key
constexpr size_t kTrailerBytes = 24;  // offset and size of the footer, magic
constexpr size_t kRecentBlocks = 8;

template <typename T>
void AppendRaw(const T& value, std::string* out) {
  out->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// Removes a value from the front of `bytes`; false when there are too few bytes.
template <typename T>
bool TakeRaw(std::string_view* bytes, T* value) {
  if (bytes->size() < sizeof(T)) return false;
  std::memcpy(value, bytes->data(), sizeof(T));
  bytes->remove_prefix(sizeof(T));
  return true;
}

std::string HeaderOf(std::string_view key) {
  std::string header(kMagic);
  AppendRaw(kCacheVersion, &header);
  AppendRaw(static_cast<uint32_t>(key.size()), &header);
  header += key;
  AppendRaw(HashBytes(header), &header);
  return header;
}

std::string_view FirstLine(std::string_view text) { return text.substr(0, text.find('\n')); }

// "name was x, is y" for the first line that differs.
std::string Difference(std::string_view was, std::string_view is) {
  while (!is.empty() && FirstLine(was) == FirstLine(is)) {
    const size_t line = FirstLine(is).size() + 1;
    was.remove_prefix(std::min(line, was.size()));
    is.remove_prefix(std::min(line, is.size()));
  }
  const std::string_view name = FirstLine(is).substr(0, FirstLine(is).find('='));
  const auto value = [&](std::string_view line) {
    return line.starts_with(name) ? line.substr(std::min(name.size() + 1, line.size())) : line;
  };
  return fmt::format("{} was '{}', is '{}'", name, value(FirstLine(was)), value(FirstLine(is)));
}

std::string FooterOf(const std::vector<CacheBlock>& blocks, int64_t skipped,
                     const std::vector<std::string>& samples) {
  std::string footer;
  AppendRaw(static_cast<uint64_t>(blocks.size()), &footer);
  for (const CacheBlock& block : blocks) {
    AppendRaw(block.offset, &footer);
    AppendRaw(block.bytes, &footer);
    AppendRaw(block.rows, &footer);
    AppendRaw(block.checksum, &footer);
  }
  AppendRaw(static_cast<uint64_t>(skipped), &footer);
  AppendRaw(static_cast<uint64_t>(samples.size()), &footer);
  for (const std::string& sample : samples) {
    AppendRaw(static_cast<uint64_t>(sample.size()), &footer);
    footer += sample;
  }
  AppendRaw(HashBytes(footer), &footer);
  return footer;
}

}  // namespace

StatusOr<std::unique_ptr<CacheWriter>> CacheWriter::Make(std::string path, std::string_view key,
                                                         std::vector<InputSpec> inputs) {
  // Readers verify checksums and rebuild a damaged file, so it need not be synced.
  FL_ASSIGN_OR_RETURN(OutputFile file,
                      OutputFile::Create(std::move(path), {.sync = false, .shared = true}));
  std::unique_ptr<CacheWriter> writer(new CacheWriter(std::move(file), std::move(inputs)));
  MutexLock lock(writer->mutex_);
  FL_RETURN_IF_ERROR(writer->Write(HeaderOf(key)));
  return writer;
}

CacheWriter::CacheWriter(OutputFile file, std::vector<InputSpec> inputs)
    : inputs_(std::move(inputs)), file_(std::move(file)) {}

Status CacheWriter::Write(std::string_view bytes) {
  bytes_written_ += bytes.size();
  return file_.Write(bytes);
}

Status CacheWriter::Add(const Batch& batch) {
  const std::string bytes = PackBlock(inputs_, batch);
  CacheBlock block{.bytes = bytes.size(),
                   .rows = static_cast<uint64_t>(batch.rows),
                   .checksum = HashBytes(bytes)};
  MutexLock lock(mutex_);
  block.offset = bytes_written_;
  blocks_.emplace_back(batch.ordinal, block);
  return Write(bytes);
}

Status CacheWriter::Finish(int64_t skipped, const std::vector<std::string>& samples) {
  MutexLock lock(mutex_);
  std::sort(blocks_.begin(), blocks_.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<CacheBlock> blocks;
  for (const auto& [ordinal, block] : blocks_) blocks.push_back(block);
  const uint64_t footer_offset = bytes_written_;
  std::string footer = FooterOf(blocks, skipped, samples);
  const uint64_t footer_bytes = footer.size();
  AppendRaw(footer_offset, &footer);
  AppendRaw(footer_bytes, &footer);
  footer += kEndMagic;
  FL_RETURN_IF_ERROR(Write(footer));
  return file_.Finish();
}

struct CacheFile::Loaded {
  explicit Loaded(size_t number) : block(number) {}

  const size_t block;
  Mutex mutex;
  bool done FL_GUARDED_BY(mutex) = false;
  // Written under the mutex while the block is being loaded, constant afterwards.
  Status status;
  std::unique_ptr<char[]> bytes;
  BlockView view;
};

StatusOr<std::shared_ptr<const CacheFile>> CacheFile::Open(const std::string& path,
                                                           std::string_view key,
                                                           std::vector<InputSpec> inputs) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) return NotFound("{}: no such file", path);
  if (fd < 0) return absl::DataLossError(fmt::format("{}: {}", path, std::strerror(errno)));
  std::shared_ptr<CacheFile> file(new CacheFile(path, fd, std::move(inputs)));
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) return file->Damaged("is not a file");
  FL_RETURN_IF_ERROR(file->ReadHeader(key, info.st_size));
  FL_RETURN_IF_ERROR(file->ReadFooter(info.st_size));
  return file;
}

CacheFile::CacheFile(std::string path, int fd, std::vector<InputSpec> inputs)
    : path_(std::move(path)), fd_(fd), inputs_(std::move(inputs)) {}

CacheFile::~CacheFile() { close(fd_); }

Status CacheFile::Damaged(const std::string& what) const {
  return absl::DataLossError(fmt::format("{}: {}", path_, what));
}

Status CacheFile::ReadAt(uint64_t offset, size_t bytes, char* out) const {
  while (bytes > 0) {
    const ssize_t got = pread(fd_, out, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Damaged(std::strerror(errno));
    if (got == 0) return Damaged("is too short");
    offset += got;
    out += got;
    bytes -= got;
  }
  return absl::OkStatus();
}

Status CacheFile::ReadHeader(std::string_view key, uint64_t file_bytes) {
  std::string head(kHeadBytes, '\0');
  FL_RETURN_IF_ERROR(ReadAt(0, head.size(), head.data()));
  std::string_view rest = std::string_view(head).substr(kMagic.size());
  uint32_t version = 0, key_bytes = 0;
  TakeRaw(&rest, &version);
  TakeRaw(&rest, &key_bytes);
  if (!head.starts_with(kMagic)) return Damaged("is not a cache file");
  if (version != kCacheVersion) {
    return FailedPrecondition("format version was {}, is {}", version, kCacheVersion);
  }
  if (key_bytes > file_bytes) return Damaged("its header is damaged");
  std::string header(kHeadBytes + key_bytes + sizeof(uint64_t), '\0');
  FL_RETURN_IF_ERROR(ReadAt(0, header.size(), header.data()));
  const std::string_view found = std::string_view(header).substr(kHeadBytes, key_bytes);
  if (header != HeaderOf(found)) return Damaged("its header is damaged");
  if (found != key) return FailedPrecondition("{}", Difference(found, key));
  blocks_begin_ = header.size();
  return absl::OkStatus();
}

Status CacheFile::ReadFooter(uint64_t file_bytes) {
  if (file_bytes < blocks_begin_ + kTrailerBytes) return Damaged("is too short");
  std::string trailer(kTrailerBytes, '\0');
  FL_RETURN_IF_ERROR(ReadAt(file_bytes - kTrailerBytes, trailer.size(), trailer.data()));
  std::string_view rest = trailer;
  uint64_t offset = 0, bytes = 0;
  TakeRaw(&rest, &offset);
  TakeRaw(&rest, &bytes);
  const uint64_t end = file_bytes - kTrailerBytes;
  if (rest != kEndMagic || offset < blocks_begin_ || offset > end || bytes != end - offset ||
      bytes < sizeof(uint64_t)) {
    return Damaged("its index is damaged");
  }
  blocks_end_ = offset;
  std::string footer(bytes, '\0');
  FL_RETURN_IF_ERROR(ReadAt(offset, footer.size(), footer.data()));
  uint64_t checksum = 0;
  std::memcpy(&checksum, footer.data() + bytes - sizeof(checksum), sizeof(checksum));
  footer.resize(bytes - sizeof(checksum));
  if (HashBytes(footer) != checksum) return Damaged("its index is damaged");
  return ParseFooter(footer);
}

Status CacheFile::ParseFooter(std::string_view footer) {
  const Status damaged = Damaged("its index is malformed");
  uint64_t blocks = 0, skipped = 0, samples = 0, bytes = 0;
  if (!TakeRaw(&footer, &blocks) || blocks > footer.size() / sizeof(CacheBlock)) return damaged;
  for (uint64_t i = 0; i < blocks; ++i) {
    CacheBlock block;
    TakeRaw(&footer, &block.offset);
    TakeRaw(&footer, &block.bytes);
    TakeRaw(&footer, &block.rows);
    TakeRaw(&footer, &block.checksum);
    if (block.offset < blocks_begin_ || block.offset > blocks_end_ ||
        block.bytes > blocks_end_ - block.offset || block.rows > kCacheBlockRows) {
      return damaged;
    }
    blocks_.push_back(block);
    first_rows_.push_back(first_rows_.back() + static_cast<int64_t>(block.rows));
  }
  if (!TakeRaw(&footer, &skipped) || !TakeRaw(&footer, &samples)) return damaged;
  if (skipped > std::numeric_limits<int64_t>::max()) return damaged;
  for (uint64_t i = 0; i < samples; ++i) {
    if (!TakeRaw(&footer, &bytes) || bytes > footer.size()) return damaged;
    samples_.emplace_back(footer.substr(0, bytes));
    footer.remove_prefix(bytes);
  }
  skipped_ = static_cast<int64_t>(skipped);
  return footer.empty() ? absl::OkStatus() : damaged;
}

Status CacheFile::Load(size_t block, Loaded* loaded) const {
  const CacheBlock& place = blocks_[block];
  loaded->bytes = std::make_unique_for_overwrite<char[]>(place.bytes);
  const std::string_view bytes(loaded->bytes.get(), place.bytes);
  FL_RETURN_IF_ERROR(ReadAt(place.offset, place.bytes, loaded->bytes.get()));
  if (HashBytes(bytes) != place.checksum) {
    return Damaged(fmt::format("the checksum of block {} is wrong", block));
  }
  StatusOr<BlockView> view = BlockView::Make(inputs_, static_cast<int64_t>(place.rows), bytes);
  if (!view.ok()) return Annotate(view.status(), fmt::format("{}: block {}", path_, block));
  loaded->view = *std::move(view);
  return absl::OkStatus();
}

StatusOr<std::shared_ptr<const CacheFile::Loaded>> CacheFile::Get(size_t block) const {
  std::shared_ptr<Loaded> found;
  {
    MutexLock lock(mutex_);
    const auto place = std::find_if(recent_.begin(), recent_.end(),
                                    [&](const auto& entry) { return entry->block == block; });
    if (place != recent_.end()) {
      std::rotate(recent_.begin(), place, place + 1);
    } else {
      recent_.insert(recent_.begin(), std::make_shared<Loaded>(block));
      if (recent_.size() > kRecentBlocks) recent_.pop_back();
    }
    found = recent_.front();
  }
  // The first caller loads the block; the others wait for that block only.
  MutexLock lock(found->mutex);
  if (!found->done) {
    found->status = Load(block, found.get());
    found->done = true;
  }
  FL_RETURN_IF_ERROR(found->status);
  return found;
}

Status CacheFile::Append(int64_t begin, int64_t end, Batch* batch) const {
  size_t block =
      std::upper_bound(first_rows_.begin(), first_rows_.end(), begin) - first_rows_.begin() - 1;
  for (; begin < end; ++block) {
    const int64_t first = first_rows_[block];
    const int64_t stop = std::min(end, first_rows_[block + 1]);
    FL_ASSIGN_OR_RETURN(const std::shared_ptr<const Loaded> loaded, Get(block));
    loaded->view.Append(inputs_, begin - first, stop - first, batch);
    begin = stop;
  }
  return absl::OkStatus();
}

}  // namespace flotilla
