// A file of known size that is written under a temporary name next to its final path and moved
// there when it is complete.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "flotilla/base/status.h"
#include "flotilla/checkpoint/block_file.h"

namespace flotilla {

// Not thread-safe. Without Finish nothing is left behind, and an existing file is unchanged.
class ReplacedFile {
 public:
  // Errors, here and below, name the file.
  static StatusOr<std::unique_ptr<ReplacedFile>> Make(const std::string& path, int64_t bytes);
  ~ReplacedFile();
  ReplacedFile(const ReplacedFile&) = delete;
  ReplacedFile& operator=(const ReplacedFile&) = delete;

  // REQUIRES: the range is inside the file and none of it was written before.
  Status Write(int64_t offset, std::string_view bytes) { return file_->Write(offset, bytes); }
  // REQUIRES: every byte was written.
  Status Finish();

 private:
  ReplacedFile(std::string path, std::unique_ptr<BlockFileWriter> file);

  const std::string path_;
  std::unique_ptr<BlockFileWriter> file_;
  bool finished_ = false;
};

}  // namespace flotilla
