// The header of a safetensors file: which tensors it has and where. The format is
// https://github.com/huggingface/safetensors; docs/checkpoint_format.md says what we use of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"

namespace flotilla {

// A tensor of a file. Invariant: bytes == size of the dtype * product of the shape.
struct TensorEntry {
  std::string name;
  std::string dtype;  // "F32", "U64", "U32"
  std::vector<int64_t> shape;
  int64_t offset = 0;  // in the file
  int64_t bytes = 0;

  bool operator==(const TensorEntry&) const = default;
};

// The start of a file with its header, and what follows from it.
struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;  // in the order of the data
  int64_t file_bytes = 0;

  // Gives the tensors their offsets, in their order, and sets file_bytes. The result is what the
  // file starts with. Only names, dtypes and shapes of `tensors` are read. Errors: a name that is
  // used twice or is not UTF-8, a size that does not fit.
  StatusOr<std::string> Lay(const std::map<std::string, std::string>& metadata);

  // Null when there is none of the name.
  const TensorEntry* Find(std::string_view name) const;
};

// Bytes that a file of `file_bytes` bytes must be read up to, to have its header. `start` is its
// first 8 bytes. An error when they cannot be the start of a file of this size.
StatusOr<int64_t> SafetensorsHeaderEnd(std::string_view start, int64_t file_bytes);

// `head` is the file up to SafetensorsHeaderEnd. An error unless the tensors fill the file without
// gaps and overlaps. Never aborts, whatever the text.
StatusOr<SafetensorsHeader> ParseSafetensors(std::string_view head, int64_t file_bytes);

}  // namespace flotilla
