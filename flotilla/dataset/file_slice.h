// A part of a file: the lines that begin in a range of its bytes. Slices that cover a file without
// overlap have each of its lines exactly once, so that trainers can share one large file. They are
// made here; line_reader.h reads them.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/dataset/file_list.h"

namespace flotilla {

// Of FileSlice::end: up to the end of the file, whatever its size.
inline constexpr int64_t kFileEnd = std::numeric_limits<int64_t>::max();

// REQUIRES: 0 <= begin <= end; only files that IsSliceable can have a begin other than 0 or another
// end. The header of a file belongs to every slice of it and counts as none of its lines.
struct FileSlice {
  std::string path;
  int64_t begin = 0;
  int64_t end = kFileEnd;

  bool whole() const { return begin == 0 && end == kFileEnd; }
  bool operator==(const FileSlice&) const = default;
};

std::vector<FileSlice> WholeFiles(std::span<const std::string> paths);

// "train.csv", or "bytes 0 to 1000 of train.csv", for messages.
std::string ToString(const FileSlice& slice);

// Whether a file can be read from the middle: a regular file of this machine that is not
// compressed.
bool IsSliceable(const std::string& path, const SchemeCommands& schemes);

// Share `index` of `count`: every count-th of equal slices of the concatenated files, up to 64 of
// at least 64 KiB for each share, so that rows that are sorted or in the order of time are in all
// shares alike. Nothing if one of the files cannot be sliced or its size cannot be read. Trainers
// that see the same files with the same sizes have each line exactly once. REQUIRES: 0 <= index <
// count.
std::optional<std::vector<FileSlice>> SliceFiles(std::span<const std::string> files,
                                                 const SchemeCommands& schemes, int count,
                                                 int index);

// The number of the first line of the slice in its file, from 1: reads the file up to there. For
// messages about single lines. `header_lines` are not lines of a slice.
StatusOr<int64_t> FirstLineOf(const FileSlice& slice, int header_lines);

}  // namespace flotilla
