// Interface of a byte stream, implemented by files, decompressors and commands so that they can be
// stacked on each other. Line readers are built on top of it; the stream itself knows nothing of
// lines.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "flotilla/base/status.h"

namespace flotilla {

// Not thread-safe. Every error message starts with the name of the file behind the stream.
class ByteStream {
 public:
  virtual ~ByteStream() = default;

  // The name of the file behind the stream, as it appears in messages.
  virtual const std::string& name() const = 0;

  // Reads the next bytes into the front of `out` and returns their number, 0 only at the end of the
  // stream. A stream that ends prematurely (a truncated file, a failed command) is an error, never
  // an end of stream. REQUIRES: out is not empty.
  virtual StatusOr<size_t> Read(std::span<char> out) = 0;

  // Skips the next `bytes` bytes. The default implementation reads and discards them; files that
  // support it seek instead. InvalidArgument when the stream ends earlier.
  virtual Status Skip(int64_t bytes);

  // A file descriptor that yields the same bytes as Read, to be passed to a child process; -1 when
  // there is none. Owned by the stream.
  virtual int fd() const { return -1; }

  // Returns an error when the underlying file is known to have changed since it was opened, so that
  // the bytes read may mix two versions.
  virtual Status CheckUnchanged() const { return absl::OkStatus(); }
};

}  // namespace flotilla
