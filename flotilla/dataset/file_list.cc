#include "flotilla/dataset/file_list.h"

#include <glob.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace flotilla {
namespace {

namespace fs = std::filesystem;
using Files = std::vector<std::string>;

// Compares runs of digits by their numbers, everything else bytewise.
bool NaturalLess(std::string_view a, std::string_view b) {
  const auto digits = [](std::string_view text, size_t at) {
    size_t end = at;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    return text.substr(at, end - at);
  };
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    const std::string_view x = digits(a, i), y = digits(b, j);
    if (x.empty() || y.empty()) {
      if (a[i] != b[j]) return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
      ++i, ++j;
      continue;
    }
    const std::string_view m = x.substr(std::min(x.find_first_not_of('0'), x.size()));
    const std::string_view n = y.substr(std::min(y.find_first_not_of('0'), y.size()));
    if (m.size() != n.size()) return m.size() < n.size();
    if (m != n) return m < n;
    i += x.size(), j += y.size();
  }
  if (a.size() - i != b.size() - j) return a.size() - i < b.size() - j;
  return a < b;  // 07 and 7
}

void SortFrom(size_t first, Files* files) {
  std::sort(files->begin() + static_cast<std::ptrdiff_t>(first), files->end(), NaturalLess);
}

bool IsHidden(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with('.') || name.starts_with('_');
}

Status AddDirectory(const std::string& directory, Files* files) {
  const size_t before = files->size();
  std::error_code error;
  fs::directory_iterator entry(directory, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code unreadable;
    // Everything that is not a directory counts as a file, including a dangling link: reading it
    // reports the error.
    if (!IsHidden(entry->path()) && !entry->is_directory(unreadable)) {
      files->push_back(entry->path().string());
    }
  }
  if (error)
    return InvalidArgument("{}: cannot list the directory: {}", directory, error.message());
  if (files->size() == before) return NotFound("{}: the directory has no files", directory);
  SortFrom(before, files);
  return absl::OkStatus();
}

Status AddMatches(const std::string& pattern, Files* files) {
  glob_t found{};
  const int result = glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  const size_t before = files->size();
  for (size_t i = 0; result == 0 && i < found.gl_pathc; ++i) {
    std::error_code ignored;
    if (!fs::is_directory(found.gl_pathv[i], ignored)) files->emplace_back(found.gl_pathv[i]);
  }
  globfree(&found);
  if (result != 0 && result != GLOB_NOMATCH) {
    return InvalidArgument("{}: cannot search for matching files", pattern);
  }
  if (files->size() == before) return NotFound("{}: no file matches", pattern);
  SortFrom(before, files);
  return absl::OkStatus();
}

Status AddName(const std::string& name, const SchemeCommands& schemes, Files* files) {
  if (name == "-") {
    files->push_back(name);
    return absl::OkStatus();
  }
  std::error_code error;
  const fs::file_status status = fs::status(name, error);
  if (fs::is_directory(status)) return AddDirectory(name, files);
  const std::string_view scheme = SchemeOf(name);
  if (fs::exists(status) || schemes.contains(scheme)) {
    files->push_back(name);
    return absl::OkStatus();
  }
  if (!scheme.empty()) {
    return InvalidArgument("{}: no command is configured that reads '{}:' paths", name, scheme);
  }
  if (name.find_first_of("*?[") != std::string::npos) return AddMatches(name, files);
  if (status.type() == fs::file_type::not_found) return NotFound("{}: no such file", name);
  return InvalidArgument("{}: {}", name, error.message());
}

Status AddList(const std::string& list, const SchemeCommands& schemes, Files* files) {
  std::ifstream lines(list);
  if (!lines) return NotFound("{}: cannot read the list of files", list);
  const size_t before = files->size();
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
    if (line.empty() || line.starts_with('#')) continue;
    const Status status = line.starts_with('@')
                              ? InvalidArgument("{}: a list cannot name another list", line)
                              : AddName(line, schemes, files);
    if (!status.ok()) return Annotate(status, fmt::format("{}:{}", list, number));
  }
  if (lines.bad()) return InvalidArgument("{}: cannot read the list of files", list);
  if (files->size() == before) return NotFound("{}: the list names no files", list);
  return absl::OkStatus();
}

}  // namespace

std::string_view SchemeOf(std::string_view name) {
  const size_t colon = name.find(':');
  if (colon == std::string_view::npos || colon < 2) return {};
  const std::string_view scheme = name.substr(0, colon);
  const bool plain = std::all_of(scheme.begin(), scheme.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
  });
  return plain ? scheme : std::string_view();
}

StatusOr<std::vector<std::string>> ExpandFiles(std::span<const std::string> names,
                                               const SchemeCommands& schemes) {
  Files files;
  for (const std::string& name : names) {
    FL_RETURN_IF_ERROR(name.starts_with('@') ? AddList(name.substr(1), schemes, &files)
                                             : AddName(name, schemes, &files));
  }
  if (files.empty()) return InvalidArgument("no files given");
  return files;
}

}  // namespace flotilla
