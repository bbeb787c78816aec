#include "flotilla/base/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "flotilla/base/decompress.h"

namespace flotilla {
namespace {

FileStamp ToStamp(const struct stat& info) {
  return {.bytes = info.st_size,
          .modified_ns = info.st_mtim.tv_sec * int64_t{1'000'000'000} + info.st_mtim.tv_nsec};
}

Status OpenError(std::string_view path, int error) {
  if (error == ENOENT) return NotFound("{}: no such file", path);
  return InvalidArgument("{}: cannot open: {}", path, std::strerror(error));
}

}  // namespace

StatusOr<FileStamp> StampOf(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return OpenError(path, errno);
  if (!S_ISREG(info.st_mode)) return InvalidArgument("{}: is not a regular file", path);
  return ToStamp(info);
}

StatusOr<std::unique_ptr<RawFile>> RawFile::Open(std::string_view path,
                                                 const Interrupt* interrupt) {
  // Duplicates standard input, so that the stream can close the descriptor that it owns. A named
  // pipe without a writer must not block in open(), which an Interrupt cannot end.
  const int fd = path == "-" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)
                             : open(std::string(path).c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return OpenError(path, errno);
  std::unique_ptr<RawFile> file(new RawFile(path, fd, interrupt));
  struct stat info;
  if (fstat(fd, &info) != 0) return OpenError(path, errno);
  if (S_ISDIR(info.st_mode)) return InvalidArgument("{}: is a directory, expected a file", path);
  file->regular_ = S_ISREG(info.st_mode);
  if (path != "-") fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK);
  // A named pipe reads as ended until its first writer opens it.
  if (S_ISFIFO(info.st_mode)) FL_RETURN_IF_ERROR(file->AwaitBytes());
  file->stamp_ = ToStamp(info);
  posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);  // a hint: failure is harmless
  return file;
}

RawFile::~RawFile() { close(fd_); }

Status RawFile::AwaitBytes() const {
  if (!regular_) return AwaitReadable(fd_, interrupt_);
  return interrupt_ == nullptr ? absl::OkStatus() : interrupt_->status();
}

StatusOr<size_t> RawFile::Read(std::span<char> out) {
  while (true) {
    FL_RETURN_IF_ERROR(AwaitBytes());
    const ssize_t got = read(fd_, out.data(), out.size());
    if (got > 0) return static_cast<size_t>(got);
    if (got == 0) {
      FL_RETURN_IF_ERROR(CheckUnchanged());
      return 0;
    }
    if (errno != EINTR) return Internal("{}: cannot read: {}", path_, std::strerror(errno));
  }
}

Status RawFile::Skip(int64_t bytes) {
  if (!regular_) return ByteStream::Skip(bytes);
  const int64_t place = lseek(fd_, bytes, SEEK_CUR);
  if (place < 0) return Internal("{}: cannot seek: {}", path_, std::strerror(errno));
  if (place > stamp_.bytes) {
    return InvalidArgument("{}: ended {} bytes before the position to resume at", path_,
                           place - stamp_.bytes);
  }
  return absl::OkStatus();
}

Status RawFile::CheckUnchanged() const {
  struct stat info;
  if (!regular_ || (fstat(fd_, &info) == 0 && ToStamp(info) == stamp_)) {
    return absl::OkStatus();
  }
  return FailedPrecondition("{}: changed while it was read ({} bytes when opened, {} now)", path_,
                            stamp_.bytes, info.st_size);
}

StatusOr<std::unique_ptr<ByteStream>> OpenTextFile(std::string_view path) {
  FL_ASSIGN_OR_RETURN(std::unique_ptr<RawFile> file, RawFile::Open(path));
  return Decompress(path, std::move(file));
}

StatusOr<std::string> ReadWholeFile(const std::string& path, size_t max_bytes) {
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> file, OpenTextFile(path));
  std::string text;
  std::array<char, 4096> buffer;
  while (true) {
    FL_ASSIGN_OR_RETURN(const size_t got, file->Read(buffer));
    if (got == 0) return text;
    text.append(buffer.data(), got);
    if (text.size() > max_bytes)
      return InvalidArgument("{}: longer than {} bytes", path, max_bytes);
  }
}

}  // namespace flotilla
