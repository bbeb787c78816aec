// The header of a safetensors file: its tensors and their offsets. The format is
// https://github.com/huggingface/safetensors; docs/checkpoint_format.md describes the subset used
// here.
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
  int64_t offset = 0;  // offset in the file
  int64_t bytes = 0;

  bool operator==(const TensorEntry&) const = default;
};

// The header of a file, and the values derived from it.
struct SafetensorsHeader {
  std::vector<TensorEntry> tensors;  // in the order of the data
  int64_t file_bytes = 0;

  // Assigns offsets to the tensors, in their order, and sets file_bytes. Returns the bytes that the
  // file starts with. Only names, dtypes and shapes of `tensors` are read. Errors: a name that is
  // used twice or is not UTF-8, a size that does not fit.
  StatusOr<std::string> Lay(const std::map<std::string, std::string>& metadata);

  // Null when there is none of this name.
  const TensorEntry* Find(std::string_view name) const;
};

// Offset of the end of the header of a file of `file_bytes` bytes. `start` is its first 8 bytes.
// Error when they cannot be the start of a file of this size.
StatusOr<int64_t> SafetensorsHeaderEnd(std::string_view start, int64_t file_bytes);

// `head` is the file up to SafetensorsHeaderEnd. Error unless the tensors fill the file without
// gaps and overlaps. Never aborts, for any text.
StatusOr<SafetensorsHeader> ParseSafetensors(std::string_view head, int64_t file_bytes);

}  // namespace flotilla
