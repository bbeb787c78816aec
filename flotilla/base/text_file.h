// Reads the bytes of one text file from front to back, plain or compressed (.zst, recognised by the
// name). It stands below the readers of dataset/; it knows nothing of lines, and never seeks.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"

namespace flotilla {

// Owns the open file. Not thread-safe.
class TextFile {
 public:
  // NotFound when there is no such file; other errors when it is a directory, cannot be read or has
  // a compression that is not supported. Every message starts with the path.
  static StatusOr<std::unique_ptr<TextFile>> Open(std::string_view path);
  ~TextFile();
  TextFile(const TextFile&) = delete;
  TextFile& operator=(const TextFile&) = delete;

  // Fills `out` from the front with the next bytes of the (decompressed) text; returns how many, 0
  // only at the end of the file. A damaged or truncated compressed file is an error, never an end.
  // REQUIRES: out is not empty.
  StatusOr<size_t> Read(std::span<char> out);

  const std::string& path() const { return path_; }

 private:
  struct Zstd;

  TextFile(std::string_view path, int fd);
  StatusOr<size_t> ReadRaw(std::span<char> out);
  StatusOr<size_t> ReadZstd(std::span<char> out);

  const std::string path_;
  const int fd_;
  std::unique_ptr<Zstd> zstd_;  // null for plain files
};

}  // namespace flotilla
