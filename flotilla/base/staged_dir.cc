#include "flotilla/base/staged_dir.h"

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>
#include <vector>

namespace flotilla {
namespace {

namespace fs = std::filesystem;

Status PathError(const std::string& path, const std::error_code& error) {
  return FailedPrecondition("{}: {}", path, error.message());
}

}  // namespace

Status MakeEmptyDirectory(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return PathError(directory, error);
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    if (entry->path().filename().string().starts_with('.')) continue;
    return FailedPrecondition("{} already has files: remove it or choose another --out", directory);
  }
  return error ? PathError(directory, error) : absl::OkStatus();
}

StagedDir::StagedDir(std::string directory)
    : directory_(std::move(directory)), path_(directory_ + "/.partial") {}

StatusOr<std::unique_ptr<StagedDir>> StagedDir::Make(const std::string& directory) {
  FL_RETURN_IF_ERROR(MakeEmptyDirectory(directory));
  const std::string path = directory + "/.partial";
  std::error_code error;
  const bool made = fs::create_directory(path, error);
  if (error) return PathError(path, error);
  if (!made) {
    return FailedPrecondition(
        "{} exists: another run is active or was killed; in the latter case remove it", path);
  }
  return std::unique_ptr<StagedDir>(new StagedDir(directory));
}

StagedDir::~StagedDir() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

Status StagedDir::Publish() {
  std::vector<std::pair<bool, std::string>> entries;  // is a file, name
  std::error_code error;
  fs::directory_iterator entry(path_, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    entries.emplace_back(!entry->is_directory(), entry->path().filename().string());
  }
  if (error) return PathError(path_, error);
  std::sort(entries.begin(), entries.end());
  for (const auto& [is_file, name] : entries) {
    fs::rename(path_ + "/" + name, directory_ + "/" + name, error);
    if (error) return PathError(directory_ + "/" + name, error);
  }
  return absl::OkStatus();
}

}  // namespace flotilla
