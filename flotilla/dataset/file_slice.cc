#include "flotilla/dataset/file_slice.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>

#include "flotilla/base/byte_stream.h"
#include "flotilla/base/decompress.h"
#include "flotilla/base/text_file.h"

namespace flotilla {
namespace {

// Of the slices of a share.
constexpr int64_t kMinBytes = 64 << 10;
constexpr int64_t kMaxSlices = 64;

// Adds the slices that make up bytes begin to end of the concatenated files; ends[f] is where file
// f ends.
void AddRange(std::span<const std::string> files, std::span<const int64_t> ends, int64_t begin,
              int64_t end, std::vector<FileSlice>* slices) {
  for (size_t f = 0; f < files.size(); ++f) {
    const int64_t first = f == 0 ? 0 : ends[f - 1];
    const int64_t from = std::max(begin, first), to = std::min(end, ends[f]);
    if (from >= to) continue;
    // Without an end where the file ends, so that a file that is read whole is a whole file.
    slices->push_back(
        {.path = files[f], .begin = from - first, .end = to == ends[f] ? kFileEnd : to - first});
  }
}

}  // namespace

std::vector<FileSlice> WholeFiles(std::span<const std::string> paths) {
  std::vector<FileSlice> slices;
  slices.reserve(paths.size());
  for (const std::string& path : paths) slices.push_back({.path = path});
  return slices;
}

std::string ToString(const FileSlice& slice) {
  if (slice.whole()) return slice.path;
  return slice.end == kFileEnd
             ? fmt::format("bytes {} to the end of {}", slice.begin, slice.path)
             : fmt::format("bytes {} to {} of {}", slice.begin, slice.end, slice.path);
}

bool IsSliceable(const std::string& path, const SchemeCommands& schemes) {
  if (schemes.contains(SchemeOf(path)) || IsCompressed(path)) return false;
  std::error_code error;
  return std::filesystem::is_regular_file(path, error) && !error;
}

std::optional<std::vector<FileSlice>> SliceFiles(std::span<const std::string> files,
                                                 const SchemeCommands& schemes, int count,
                                                 int index) {
  FL_CHECK(count >= 1 && index >= 0 && index < count);
  std::vector<int64_t> ends;  // of each file, in the concatenation of all
  int64_t total = 0;
  for (const std::string& file : files) {
    std::error_code error;
    if (!IsSliceable(file, schemes)) return std::nullopt;
    total += static_cast<int64_t>(std::filesystem::file_size(file, error));
    if (error) return std::nullopt;
    ends.push_back(total);
  }
  const int64_t slices = count * std::clamp<int64_t>(total / count / kMinBytes, 1, kMaxSlices);
  // 128 bits: the product may not fit 64.
  const auto cut = [&](int64_t i) { return static_cast<int64_t>(__int128{total} * i / slices); };
  std::vector<FileSlice> share;
  for (int64_t i = index; i < slices; i += count) {
    AddRange(files, ends, cut(i), cut(i + 1), &share);
  }
  return share;
}

StatusOr<int64_t> FirstLineOf(const FileSlice& slice, int header_lines) {
  const int64_t after_header = header_lines + 1;
  if (slice.begin == 0) return after_header;
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<ByteStream> file, RawFile::Open(slice.path, nullptr));
  std::vector<char> buffer(size_t{1} << 18);
  // The line of the last byte before the slice begins before it, the next one does not.
  int64_t left = slice.begin - 1, line = 1;
  while (left > 0) {
    FL_ASSIGN_OR_RETURN(const size_t got, file->Read(buffer));
    if (got == 0) break;
    const auto before = std::min(left, static_cast<int64_t>(got));
    line += std::count(buffer.begin(), buffer.begin() + before, '\n');
    left -= before;
  }
  return std::max(line + 1, after_header);
}

}  // namespace flotilla
