#include "flotilla/base/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cerrno>
#include <cstring>

namespace flotilla {

struct TextFile::Zstd {
  Zstd() : context(ZSTD_createDCtx()), input(ZSTD_DStreamInSize()) {}
  ~Zstd() { ZSTD_freeDCtx(context); }

  ZSTD_DCtx* context;
  std::vector<char> input;
  ZSTD_inBuffer pending{nullptr, 0, 0};  // the part of `input` that is not decompressed yet
  // What the last call of the decompressor returned: 0 between frames, where a file may end.
  size_t frame_left = 0;
  bool seen_bytes = false;
};

StatusOr<std::unique_ptr<TextFile>> TextFile::Open(std::string_view path) {
  const std::string name(path);
  if (path.ends_with(".gz")) {
    return InvalidArgument("{}: gzip is not supported here, use plain text or .zst", path);
  }
  const int fd = open(name.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    const int error = errno;
    if (error == ENOENT) return NotFound("{}: no such file", path);
    return InvalidArgument("{}: cannot open: {}", path, std::strerror(error));
  }
  std::unique_ptr<TextFile> file(new TextFile(path, fd));
  struct stat info;
  if (fstat(fd, &info) == 0 && S_ISDIR(info.st_mode)) {
    return InvalidArgument("{}: is a directory, expected a file", path);
  }
  posix_fadvise(fd, 0, 0, POSIX_FADV_SEQUENTIAL);  // a hint: its failure changes nothing
  if (path.ends_with(".zst")) {
    file->zstd_ = std::make_unique<Zstd>();
    if (file->zstd_->context == nullptr) return ResourceExhausted("{}: zstd: no memory", path);
  }
  return file;
}

TextFile::TextFile(std::string_view path, int fd) : path_(path), fd_(fd) {}

TextFile::~TextFile() { close(fd_); }

StatusOr<size_t> TextFile::Read(std::span<char> out) {
  return zstd_ == nullptr ? ReadRaw(out) : ReadZstd(out);
}

StatusOr<size_t> TextFile::ReadRaw(std::span<char> out) {
  while (true) {
    const ssize_t got = read(fd_, out.data(), out.size());
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR) return Internal("{}: cannot read: {}", path_, std::strerror(errno));
  }
}

StatusOr<size_t> TextFile::ReadZstd(std::span<char> out) {
  Zstd& z = *zstd_;
  ZSTD_outBuffer output{out.data(), out.size(), 0};
  // A full output may leave decompressed bytes inside the context, so it is asked again before more
  // input is read.
  while (output.pos == 0) {
    if (z.pending.pos == z.pending.size) {
      FL_ASSIGN_OR_RETURN(const size_t got, ReadRaw(z.input));
      z.pending = {z.input.data(), got, 0};
      if (got == 0 && z.frame_left == 0) {
        if (z.seen_bytes) return 0;
        return InvalidArgument("{}: empty, expected a zstd stream", path_);
      }
    }
    z.seen_bytes = true;
    const bool no_input = z.pending.size == 0;
    z.frame_left = ZSTD_decompressStream(z.context, &output, &z.pending);
    if (ZSTD_isError(z.frame_left)) {
      return InvalidArgument("{}: damaged zstd stream: {}", path_, ZSTD_getErrorName(z.frame_left));
    }
    if (no_input && output.pos == 0) {
      return InvalidArgument("{}: truncated zstd stream", path_);
    }
  }
  return output.pos;
}

}  // namespace flotilla
