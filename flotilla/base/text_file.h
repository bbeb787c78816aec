// Opens files for reading from front to back: plain or compressed (.gz, .zst, by name), and
// standard input under the name "-". It stands below the readers of dataset/ and knows nothing of
// lines.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "flotilla/base/byte_stream.h"
#include "flotilla/base/interrupt.h"

namespace flotilla {

// What tells one version of a file from another.
struct FileStamp {
  int64_t bytes = 0;
  int64_t modified_ns = 0;  // since 1970

  bool operator==(const FileStamp&) const = default;
};

// NotFound when there is no such file, InvalidArgument when it is not a regular file.
StatusOr<FileStamp> StampOf(const std::string& path);

// The bytes of one file as they are. Owns the descriptor, which a child process does not inherit.
class RawFile : public ByteStream {
 public:
  // "-" is standard input. NotFound when there is no such file (or a link to none); InvalidArgument
  // when it is a directory or cannot be opened. `interrupt`, unless it is null, ends every wait for
  // bytes, also for the first of a named pipe, with its cause; it must outlive the file.
  static StatusOr<std::unique_ptr<RawFile>> Open(std::string_view path,
                                                 const Interrupt* interrupt = nullptr);
  ~RawFile() override;
  RawFile(const RawFile&) = delete;
  RawFile& operator=(const RawFile&) = delete;

  const std::string& name() const override { return path_; }
  // At the end also does what CheckUnchanged does: a file that grew, shrank or was written while it
  // was read is an error.
  StatusOr<size_t> Read(std::span<char> out) override;
  Status Skip(int64_t bytes) override;
  int fd() const override { return fd_; }
  Status CheckUnchanged() const override;

 private:
  RawFile(std::string_view path, int fd, const Interrupt* interrupt)
      : path_(path), fd_(fd), interrupt_(interrupt) {}
  // Ok when a read does not wait for long.
  Status AwaitBytes() const;

  const std::string path_;
  const int fd_;
  const Interrupt* const interrupt_;
  bool regular_ = false;  // a regular file: it has a stamp and can seek
  FileStamp stamp_;       // when it was opened
};

// The text of a file, decompressed when its name says so. Errors as RawFile and Decompress have
// them.
StatusOr<std::unique_ptr<ByteStream>> OpenTextFile(std::string_view path);

// All of it, for small files such as schemas. InvalidArgument when it is longer than `max_bytes`.
StatusOr<std::string> ReadWholeFile(const std::string& path, size_t max_bytes);

}  // namespace flotilla
