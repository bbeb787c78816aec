// The configuration file of a command: TOML without sections, one `flag = value` per line.
#pragma once

#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/fleet/cli_fwd.h"

namespace flotilla {

// The settings of the file that `args` do not contain, as flags to append to `args`. Errors name
// the file: it cannot be read, is not TOML, or has a section or a key that is not a flag of
// `command`.
StatusOr<std::vector<std::string>> FlagsOfFile(const std::string& path, const CLI::App& command,
                                               const std::vector<std::string>& args);

// All flags of a parsed command, one per line in the format of the file, with the origin as a
// comment: "flag", the name of the file, or "default". `from_file` is the result of FlagsOfFile.
std::string ConfigText(const CLI::App& command, const std::string& path,
                       const std::vector<std::string>& from_file);

// Whether a word of a command line is a flag in its long form (--NAME).
inline bool IsFlag(const std::string& word) { return word.size() > 2 && word.starts_with("--"); }
// All long names of a command's flags, with the dashes.
std::vector<std::string> FlagNames(const CLI::App& command);

}  // namespace flotilla
