#include "flotilla/run/file_shares.h"

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <filesystem>
#include <system_error>

#include "flotilla/base/hash.h"

namespace flotilla {
namespace {

// The human-readable part of a description.
std::string_view Text(const std::string& description) {
  return std::string_view(description).substr(0, description.find('\n'));
}

// All but the order of the files.
std::string_view FilesInAnyOrder(const std::string& description) {
  return std::string_view(description).substr(0, description.rfind('\n'));
}

// Of shares whose number is chosen. Text rows mostly have 50 to 500 bytes.
constexpr int64_t kMinBytes = 4 << 20;
constexpr int64_t kBytesPerBatchRow = 4096;
constexpr int kMaxPerTrainer = 32;

}  // namespace

std::string DescribeFiles(std::span<const std::string> files) {
  uint64_t bytes = 0;
  std::string list;
  uint64_t in_any_order = 0;
  for (const std::string& file : files) {
    std::error_code error;
    const uint64_t size = std::filesystem::file_size(file, error);
    bytes += error ? 0 : size;
    const std::string line = fmt::format("{}\t{}\n", file, error ? 0 : size);
    list += line;
    in_any_order += HashBytes(line);
  }
  return fmt::format("{} {} of {} bytes\n{:016x}\n{:016x}", files.size(),
                     files.size() == 1 ? "file" : "files", bytes, in_any_order, HashBytes(list));
}

std::string FilesText(std::span<const std::string> files) {
  uintmax_t bytes = 0;
  for (const std::string& file : files) {
    std::error_code error;
    const uintmax_t size = std::filesystem::file_size(file, error);
    if (!error) bytes += size;
  }
  const auto name = [](const std::string& file) {
    return std::filesystem::path(file).filename().string();
  };
  std::string names = name(files.front());
  if (files.size() > 1) names += " .. " + name(files.back());
  return fmt::format("{} file{}, {} bytes ({})", files.size(), files.size() == 1 ? "" : "s", bytes,
                     names);
}

std::string SplitWarning(std::string_view flag, std::span<const std::string> descriptions,
                         bool split) {
  const auto other =
      std::find_if(descriptions.begin(), descriptions.end(),
                   [&](const std::string& description) { return description != descriptions[0]; });
  if (split && other != descriptions.end() &&
      FilesInAnyOrder(*other) == FilesInAnyOrder(descriptions[0])) {
    return fmt::format(
        "{}: trainer {} has the {} of trainer 0 in another order, and each reads only its share of "
        "its list, so that some rows are read twice and others not at all: name the files in the "
        "same order on all trainers",
        flag, other - descriptions.begin(), Text(*other));
  }
  if (split && other != descriptions.end()) {
    return fmt::format(
        "{}: trainer {} has other files ({}) than trainer 0 ({}), and each reads only its share of "
        "its list: if every node has rows of its own, use --data_split none",
        flag, other - descriptions.begin(), Text(*other), Text(descriptions[0]));
  }
  if (!split && descriptions.size() > 1 && other == descriptions.end()) {
    return fmt::format(
        "{}: all {} trainers have the same {}, and --data_split none makes each read all of them: "
        "every row is trained on {} times per epoch; to share the files leave it out",
        flag, descriptions.size(), Text(descriptions[0]), descriptions.size());
  }
  return "";
}

int CountShares(std::span<const std::string> files, const ShareOptions& options) {
  const int trainers = options.trainers;
  const auto most = options.by_size ? INT_MAX : static_cast<int64_t>(files.size());
  int64_t shares = int64_t{trainers} * options.per_trainer;
  if (options.per_trainer == 0) {
    const int64_t least = std::max(kMinBytes, kBytesPerBatchRow * options.batch_size);
    int64_t bytes = 0;
    for (const std::string& file : files) {
      std::error_code error;
      const auto size = static_cast<int64_t>(std::filesystem::file_size(file, error));
      bytes += error ? least : size;
    }
    shares = std::min(bytes / least, int64_t{trainers} * kMaxPerTrainer);
  }
  return static_cast<int>(std::max<int64_t>(trainers, std::min(shares, most)));
}

}  // namespace flotilla
