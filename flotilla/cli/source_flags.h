// The flags of the data tools that read raw text and do not parse rows of a model: which files, and
// how to access their bytes (AddReachFlags of fleet/data_flags.h).
#pragma once

#include <string>
#include <vector>

#include "flotilla/fleet/cli_fwd.h"
#include "flotilla/fleet/data_flags.h"

namespace flotilla {

struct SourceFlags {
  std::vector<std::string> paths;
  DataOptions data;  // only how to access bytes, and max_bad_rows
  DataFlags data_flags;
  int threads = 1;
};

// Adds the positional argument PATH..; its help text begins with `what`.
void AddPathsArgument(CLI::App& command, std::vector<std::string>* paths, const std::string& what);
// Adds --threads; the default is the number of cores.
void AddThreadsFlag(CLI::App& command, int* threads, const std::string& help);
// Adds --max_bad_rows.
void AddMaxBadRowsFlag(CLI::App& command, int64_t* rows, const std::string& help);

}  // namespace flotilla
