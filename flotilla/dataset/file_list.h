// Expands the names given by a user (files, directories, patterns, lists, remote paths) into the
// list of files that a dataset reads, and computes the share of one trainer.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"

namespace flotilla {

// Maps the scheme of a remote path ("hdfs") to the command that prints a file; the path is appended
// as one word.
using SchemeCommands = std::map<std::string, std::string, std::less<>>;

// The scheme of "hdfs:/a" or "s3://b/c": lower-case letters, digits, '+', '-' or '.', at least two,
// before a ':'. Empty when there is none.
std::string_view SchemeOf(std::string_view name);

// Expands every name:
//   a file        itself
//   a directory   the files in it but not below it, without those whose names begin with '.' or '_'
//   a pattern     (with *, ? or [..]; not the name of a file) the files that match
//   @FILE         the names in FILE, one per line, expanded alike; empty lines and lines
//                 with # are ignored
//   -             standard input
//   SCHEME:..     itself, when `schemes` has a command for it
// The result has the order of the names, and of the lines of a list, so that rows can be given in
// the order of time. The files of a directory and of a pattern are sorted, runs of digits by their
// numbers: part-9 before part-10.
// Errors name the offending argument: no such file, a directory without files, a pattern without
// match, a list within a list, a scheme without a command.
StatusOr<std::vector<std::string>> ExpandFiles(std::span<const std::string> names,
                                               const SchemeCommands& schemes);

// The share of trainer `index` of `count`: contiguous blocks; the first files.size() % count blocks
// have one file more. REQUIRES: 0 <= index < count.
template <typename File>
std::vector<File> SplitFiles(const std::vector<File>& files, int count, int index) {
  FL_CHECK(count >= 1 && index >= 0 && index < count);
  const size_t share = files.size() / count, more = files.size() % count;
  const size_t begin = index * share + std::min<size_t>(index, more);
  const size_t size = share + (static_cast<size_t>(index) < more ? 1 : 0);
  return {files.begin() + begin, files.begin() + begin + size};
}

}  // namespace flotilla
