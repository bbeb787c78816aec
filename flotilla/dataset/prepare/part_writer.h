// Writes lines into the part files of a directory, a fixed number per file.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "flotilla/base/output_file.h"
#include "flotilla/base/status.h"

namespace flotilla {

// The name of a part file: "part-000012". Names sort in numeric order.
std::string PartName(int64_t part);

// Not thread-safe. Files are directory/part-000000 and so on, each with `part_lines` lines except
// the last. Without lines no file is created.
class PartFileWriter {
 public:
  // REQUIRES: the directory exists, part_lines >= 1.
  PartFileWriter(std::string directory, int64_t part_lines)
      : directory_(std::move(directory)), part_lines_(part_lines) {}

  // Appends `lines` lines. REQUIRES: text has that many lines, each with its '\n'.
  Status Append(std::string_view text, int64_t lines);
  // Closes the last file.
  Status Finish();

  int64_t lines() const { return lines_; }

 private:
  const std::string directory_;
  const int64_t part_lines_;
  std::unique_ptr<OutputFile> file_;
  int64_t lines_ = 0;
};

}  // namespace flotilla
