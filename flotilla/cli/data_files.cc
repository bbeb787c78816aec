#include "flotilla/cli/data_files.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

namespace flotilla {
namespace {

namespace fs = std::filesystem;

StatusOr<std::vector<std::string>> FilesOf(const fs::path& directory) {
  std::vector<std::string> files;
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const bool hidden = entry->path().filename().string().starts_with('.');
    std::error_code unreadable;
    if (!hidden && !entry->is_directory(unreadable)) files.push_back(entry->path().string());
  }
  if (error) return FailedPrecondition("cannot list the directory: {}", error.message());
  if (files.empty()) return NotFound("the directory has no files");
  std::sort(files.begin(), files.end());
  return files;
}

StatusOr<std::vector<std::string>> Expand(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return NotFound("no such file or directory");
  if (error) return FailedPrecondition("{}", error.message());
  if (fs::is_directory(status)) return FilesOf(path);
  return std::vector<std::string>{path};
}

}  // namespace

StatusOr<std::vector<std::string>> ExpandPaths(std::string_view flag,
                                               std::span<const std::string> paths) {
  std::vector<std::string> all;
  for (const std::string& path : paths) {
    StatusOr<std::vector<std::string>> files = Expand(path);
    if (!files.ok()) return Annotate(files.status(), fmt::format("{} {}", flag, path));
    std::move(files->begin(), files->end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace flotilla
