#include "flotilla/checkpoint/block_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "flotilla/base/hash.h"

namespace flotilla {
namespace {

int64_t BlocksOf(int64_t bytes) { return (bytes + kBlockBytes - 1) / kBlockBytes; }

Status WriteError(const std::string& path, int64_t offset, int error) {
  const char* const cause = std::strerror(error);
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
    return ResourceExhausted("{}: cannot write at offset {}: {}", path, offset, cause);
  }
  return Internal("{}: cannot write at offset {}: {}", path, offset, cause);
}

}  // namespace

BlockFileWriter::BlockFileWriter(std::string path, SavedFile file, int fd)
    : path_(std::move(path)), file_(std::move(file)), fd_(fd) {}

StatusOr<std::unique_ptr<BlockFileWriter>> BlockFileWriter::Make(const std::string& path,
                                                                 std::string name, int64_t bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return Internal("{}: cannot create: {}", path, std::strerror(errno));
  SavedFile file{.name = std::move(name), .bytes = bytes, .blocks = {}};
  file.blocks.resize(static_cast<size_t>(BlocksOf(bytes)));
  std::unique_ptr<BlockFileWriter> writer(new BlockFileWriter(path, std::move(file), fd));
  // Detects a full disk before anything is written, if the file system supports it.
  int error = 0;
  do {
    error = bytes == 0 || fallocate(fd, 0, 0, bytes) == 0 ? 0 : errno;
  } while (error == EINTR);
  if (error != 0 && error != EOPNOTSUPP && error != ENOSYS) return WriteError(path, bytes, error);
  return writer;
}

BlockFileWriter::~BlockFileWriter() {
  if (fd_ >= 0) close(fd_);
}

int64_t BlockFileWriter::BlockSize(int64_t block) const {
  return std::min(kBlockBytes, file_.bytes - block * kBlockBytes);
}

Status BlockFileWriter::Write(int64_t offset, std::string_view bytes) {
  FL_CHECK(offset >= 0 && static_cast<int64_t>(bytes.size()) <= file_.bytes - offset);
  while (!bytes.empty()) {
    const int64_t block = offset / kBlockBytes;
    const int64_t at = offset % kBlockBytes;
    const auto count = std::min(static_cast<size_t>(BlockSize(block) - at), bytes.size());
    const std::string_view now = bytes.substr(0, count);
    bytes.remove_prefix(count);
    offset += static_cast<int64_t>(count);
    if (static_cast<int64_t>(count) == BlockSize(block)) {
      FL_RETURN_IF_ERROR(FinishBlock(block, now));
      continue;
    }
    OpenBlock& open = open_[block];
    if (open.bytes.empty() && !free_.empty()) {
      open.bytes = std::move(free_.back());
      free_.pop_back();
    }
    open.bytes.resize(static_cast<size_t>(kBlockBytes));
    std::memcpy(open.bytes.data() + at, now.data(), count);
    open.filled += static_cast<int64_t>(count);
    if (open.filled < BlockSize(block)) continue;
    FL_RETURN_IF_ERROR(FinishBlock(
        block, std::string_view(open.bytes.data(), static_cast<size_t>(BlockSize(block)))));
    free_.push_back(std::move(open.bytes));
    open_.erase(block);
  }
  return absl::OkStatus();
}

Status BlockFileWriter::FinishBlock(int64_t block, std::string_view bytes) {
  file_.blocks[static_cast<size_t>(block)] = HashBytes(bytes);
  ++blocks_done_;
  int64_t offset = block * kBlockBytes;
  while (!bytes.empty()) {
    const ssize_t wrote = pwrite(fd_, bytes.data(), bytes.size(), offset);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return WriteError(path_, offset, wrote < 0 ? errno : ENOSPC);
    bytes.remove_prefix(static_cast<size_t>(wrote));
    offset += wrote;
  }
  return absl::OkStatus();
}

StatusOr<SavedFile> BlockFileWriter::Finish(bool sync) {
  FL_CHECK(blocks_done_ == static_cast<int64_t>(file_.blocks.size()));
  if (sync && fsync(fd_) != 0) return WriteError(path_, file_.bytes, errno);
  if (close(std::exchange(fd_, -1)) != 0) return WriteError(path_, file_.bytes, errno);
  return file_;
}

BlockFileReader::BlockFileReader(std::string path, SavedFile file, int fd)
    : path_(std::move(path)), file_(std::move(file)), fd_(fd) {}

StatusOr<std::unique_ptr<BlockFileReader>> BlockFileReader::Open(int directory, std::string path,
                                                                 SavedFile file) {
  const int fd = openat(directory, file.name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 && errno == ENOENT) return NotFound("{}: the file is missing", path);
  if (fd < 0) return Internal("{}: cannot open: {}", path, std::strerror(errno));
  std::unique_ptr<BlockFileReader> reader(
      new BlockFileReader(std::move(path), std::move(file), fd));
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    return DataLoss("{}: is not a regular file", reader->path_);
  }
  const int64_t bytes = reader->file_.bytes;
  if (info.st_size != bytes) {
    return DataLoss("{}: {} at offset {}: it has {} bytes, the manifest says {}", reader->path_,
                    info.st_size < bytes ? "truncated" : "extra bytes",
                    std::min<int64_t>(info.st_size, bytes), info.st_size, bytes);
  }
  return reader;
}

BlockFileReader::~BlockFileReader() { close(fd_); }

Status BlockFileReader::Verify(int64_t block, std::vector<char>* buffer) const {
  const int64_t offset = block * kBlockBytes;
  buffer->resize(static_cast<size_t>(kBlockBytes));
  const auto bytes = static_cast<size_t>(std::min(kBlockBytes, file_.bytes - offset));
  FL_RETURN_IF_ERROR(Read(offset, std::span(*buffer).first(bytes)));
  if (HashBytes({buffer->data(), bytes}) == file_.blocks[static_cast<size_t>(block)]) {
    return absl::OkStatus();
  }
  return DataLoss("{}: checksum mismatch at offset {} ({} bytes)", path_, offset, bytes);
}

Status BlockFileReader::Read(int64_t offset, std::span<char> out) const {
  while (!out.empty()) {
    const ssize_t got = pread(fd_, out.data(), out.size(), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      return Internal("{}: cannot read at offset {}: {}", path_, offset, std::strerror(errno));
    }
    if (got == 0) return DataLoss("{}: truncated at offset {} while it was read", path_, offset);
    out = out.subspan(static_cast<size_t>(got));
    offset += got;
  }
  return absl::OkStatus();
}

}  // namespace flotilla
