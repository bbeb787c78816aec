// The flags of the data tools that read text as it is and parse no rows of a model: which files,
// and how their bytes are reached (AddReachFlags of fleet/data_flags.h).
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "flotilla/dataset/source.h"
#include "flotilla/fleet/data_flags.h"

namespace flotilla {

struct SourceFlags {
  std::vector<std::string> paths;
  DataOptions data;  // of it: how bytes are reached, and max_bad_rows
  DataFlags data_flags;
  int threads = 1;
};

// How the bytes are reached, for readers.
SourceOptions SourceOf(const DataOptions& options);

// The positional PATH..; `what` begins its help.
void AddPathsArgument(CLI::App& command, std::vector<std::string>* paths, const std::string& what);
// --threads, the number of cores unless given.
void AddThreadsFlag(CLI::App& command, int* threads, const std::string& help);
// --max_bad_rows
void AddMaxBadRowsFlag(CLI::App& command, int64_t* rows, const std::string& help);

}  // namespace flotilla
