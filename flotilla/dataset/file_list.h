// From what a user names (files, directories, patterns, lists, remote paths) to the list of files
// that a dataset reads, and the share of one trainer in it.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"

namespace flotilla {

// Scheme of a remote path ("hdfs") to the command that prints a file of it; the path is appended as
// one word.
using SchemeCommands = std::map<std::string, std::string, std::less<>>;

// The scheme of "hdfs:/a" or "s3://b/c": lower-case letters, digits, '+', '-' or '.', at least two,
// before a ':'. Empty when there is none.
std::string_view SchemeOf(std::string_view name);

// Every name becomes:
//   a file        itself
//   a directory   the files in it but not below it, without those whose names begin with '.' or '_'
//   a pattern     (with *, ? or [..]; not the name of a file) the files that match
//   @FILE         the names in FILE, one a line, expanded alike; empty lines and lines with # are
//   none
//   -             standard input
//   SCHEME:..     itself, when `schemes` has a command for it
// All of them sorted by their bytes, so that trainers that name the same files in any order agree.
// Errors name what they concern: nothing there, a directory without files, a pattern without match,
// a list within a list, a scheme without a command.
StatusOr<std::vector<std::string>> ExpandFiles(std::span<const std::string> names,
                                               const SchemeCommands& schemes);

// The share of trainer `index` of `count`: contiguous blocks, of which the first files.size() %
// count have one file more. REQUIRES: 0 <= index < count.
std::vector<std::string> SplitFiles(std::span<const std::string> files, int count, int index);

}  // namespace flotilla
