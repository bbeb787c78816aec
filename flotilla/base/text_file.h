// Opens files for sequential reading: plain or compressed (.gz, .zst, chosen by extension), and
// standard input under the name "-". The readers of dataset/ are built on it; it knows nothing of
// lines.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "flotilla/base/byte_stream.h"
#include "flotilla/base/interrupt.h"

namespace flotilla {

// Identifies one version of a file.
struct FileStamp {
  int64_t bytes = 0;
  int64_t modified_ns = 0;  // since 1970

  bool operator==(const FileStamp&) const = default;
};

// NotFound when there is no such file, InvalidArgument when it is not a regular file.
StatusOr<FileStamp> StampOf(const std::string& path);

// The raw bytes of one file. Owns the descriptor, which child processes do not inherit.
class RawFile : public ByteStream {
 public:
  // "-" is standard input. NotFound when there is no such file (or it is a dangling link);
  // InvalidArgument when it is a directory or cannot be opened. `interrupt`, unless it is null,
  // ends every wait for bytes with its cause, including the wait for the first byte of a named
  // pipe; it must outlive the file.
  static StatusOr<std::unique_ptr<RawFile>> Open(std::string_view path,
                                                 const Interrupt* interrupt = nullptr);
  ~RawFile() override;
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  const std::string& name() const override { return path_; }
  // At the end of the file also calls CheckUnchanged: a file that grew, shrank or was modified
  // while it was read is an error.
  StatusOr<size_t> Read(std::span<char> out) override;
  Status Skip(int64_t bytes) override;
  int fd() const override { return fd_; }
  Status CheckUnchanged() const override;

 private:
  RawFile(std::string_view path, int fd, const Interrupt* interrupt)
      : path_(path), fd_(fd), interrupt_(interrupt) {}
  // Waits until a read will not block for long, or until the interrupt is raised.
  Status AwaitBytes() const;

  const std::string path_;
  const int fd_;
  const Interrupt* const interrupt_;
  bool regular_ = false;  // a regular file: it has a stamp and can seek
  FileStamp stamp_;       // when it was opened
};

// Opens the text of a file, decompressed according to its extension. Errors are those of RawFile
// and Decompress.
StatusOr<std::unique_ptr<ByteStream>> OpenTextFile(std::string_view path);

// Reads a whole file, for small files such as schemas. InvalidArgument when it is longer than
// `max_bytes`.
StatusOr<std::string> ReadWholeFile(const std::string& path, size_t max_bytes);

}  // namespace flotilla
