// The contract of a stream of bytes: what files, decompressors and commands have in common, so that
// each can stand behind another. Readers of lines are written against it; it knows nothing of
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

  // The file behind the stream, as messages call it.
  virtual const std::string& name() const = 0;

  // Fills `out` from the front with the next bytes and returns how many, 0 only at the end. A
  // stream that broke off (a truncated file, a failed command) is an error, never an end. REQUIRES:
  // out is not empty.
  virtual StatusOr<size_t> Read(std::span<char> out) = 0;

  // Passes over the next `bytes` bytes. Its way here is to read them; files that can, seek.
  // InvalidArgument when the stream ends before.
  virtual Status Skip(int64_t bytes);

  // A descriptor that gives the same bytes as Read, for a child process; -1 when there is none.
  // Owned by the stream.
  virtual int fd() const { return -1; }

  // An error when what stands behind the stream is known to have changed since it was opened, so
  // that the bytes read may be of two versions.
  virtual Status CheckUnchanged() const { return absl::OkStatus(); }
};

}  // namespace flotilla
