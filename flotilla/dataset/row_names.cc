#include "flotilla/dataset/row_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace flotilla {
namespace {

class FileNames {
 public:
  FileNames(std::vector<FileSlice> files, RowCount count)
      : files_(std::move(files)), count_(count) {}

  std::string Name(const BatchOrigin& origin, int64_t row) const {
    if (origin.rows <= 0) return "";
    const std::optional<Found> first = Find(origin, std::max<int64_t>(row, 0));
    if (row >= 0) return first ? Text(*first) : "";
    const std::optional<Found> last = Find(origin, origin.rows - 1);
    if (!first || !last) return Between(origin);
    if (last->file != first->file) return fmt::format("{} to {}", Text(*first), Text(*last));
    const int64_t before = LinesBefore(first->file);
    return fmt::format("{}, {}s {} to {}", files_[first->file].path, count_.unit,
                       before + first->number, before + last->number);
  }

 private:
  struct Found {
    size_t file;
    int64_t number;
  };

  std::string Text(const Found& found) const {
    return fmt::format("{}, {} {}", files_[found.file].path, count_.unit,
                       LinesBefore(found.file) + found.number);
  }

  // Of a slice, which does not count them; reads the file up to there. 0 if it cannot be read
  // again.
  int64_t LinesBefore(size_t file) const {
    const int64_t first = count_.first;
    return FirstLineOf(files_[file], static_cast<int>(first - 1)).value_or(first) - first;
  }

  // If all that is known is the files.
  std::string Between(const BatchOrigin& origin) const {
    const auto file = [this](int64_t index) -> const std::string& {
      return files_[std::clamp<int64_t>(index, 0, static_cast<int64_t>(files_.size()) - 1)].path;
    };
    return fmt::format("files {} to {}", file(origin.begin.file), file(origin.end.file));
  }

  // Empty if it depends on the number of rows of files between the two places.
  std::optional<Found> Find(const BatchOrigin& origin, int64_t row) const {
    const int64_t files = origin.end.file - origin.begin.file;
    const int64_t first = origin.begin.line + count_.shift;
    const int64_t at_end = std::min(origin.rows, origin.end.line + count_.shift - count_.first);
    const int64_t before = files == 0 ? origin.rows : origin.rows - at_end;
    if (files > 1 && row < before) return std::nullopt;
    Found found{static_cast<size_t>(origin.begin.file), first + row};
    if (row >= before) {
      found = {static_cast<size_t>(origin.end.file), count_.first + row - before};
    }
    if (found.file >= files_.size()) return std::nullopt;
    return found;
  }

  const std::vector<FileSlice> files_;
  const RowCount count_;
};

}  // namespace

NameRows NamesInFiles(std::vector<FileSlice> files, RowCount count) {
  return [names = FileNames(std::move(files), count)](const BatchOrigin& origin, int64_t row) {
    return names.Name(origin, row);
  };
}

}  // namespace flotilla
