// From the paths on a command line to the list of files that a dataset reads.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"

namespace flotilla {

// Every path that is a file as it is, every directory as the files in it, sorted by name; hidden
// files and directories below are left out. The order of the paths is kept.
// Errors name `flag` and the path: nothing there, no files in a directory, no permission.
StatusOr<std::vector<std::string>> ExpandPaths(std::string_view flag,
                                               std::span<const std::string> paths);

}  // namespace flotilla
