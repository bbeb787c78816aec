// The configuration file of a command: TOML without sections, one `flag = value` a line.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "flotilla/base/status.h"

namespace flotilla {

// The settings of the file that `args` do not have, as flags to be appended to them. Errors name
// the file: it cannot be read, is not TOML, has a section or a key that `command` has no flag for.
StatusOr<std::vector<std::string>> FlagsOfFile(const std::string& path, const CLI::App& command,
                                               const std::vector<std::string>& args);

// Every flag of a command that was read, one a line in the form of the file, with the origin as a
// comment: "flag", the file's name, or "default". `from_file` is what FlagsOfFile gave.
std::string ConfigText(const CLI::App& command, const std::string& path,
                       const std::vector<std::string>& from_file);

// Whether a word of a command line is a flag by its long name.
inline bool IsFlag(const std::string& word) { return word.size() > 2 && word.starts_with("--"); }
// All long names of a command's flags, with the dashes.
std::vector<std::string> FlagNames(const CLI::App& command);

}  // namespace flotilla
