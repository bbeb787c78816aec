// The flags for the format and the reading of rows, shared by training and all other commands that
// read the rows of a model.
#pragma once

#include <string>
#include <vector>

#include "flotilla/fleet/cli_fwd.h"
#include "flotilla/run/train_options.h"

namespace flotilla {

// Values of flags that SettleDataFlags evaluates; all others go directly into DataOptions.
struct DataFlags {
  std::string numeric;
  std::vector<std::string> format_params;  // KEY=VALUE
  std::vector<std::string> schemes;        // NAME=CMD
};

// The help text of arguments that name files of rows.
inline constexpr char kPathsHelp[] =
    "files, directories, patterns, @LIST (a file of paths), - (standard input), hdfs:..; plain, "
    ".gz or .zst";

// Declares --format, --format_param, --numeric, --pipe_command, --pipe_timeout and --scheme.
// REQUIRES, here and below: flags and options outlive the command.
void AddFormatFlags(CLI::App& command, DataOptions* options, DataFlags* flags);

// Declares --ignore_format, for commands that read rows for a saved model.
void AddIgnoreFormatFlag(CLI::App& command, DataOptions* options);

// Declares --pipe_timeout and --scheme, which AddFormatFlags also declares: how to access bytes,
// for commands that do not parse rows.
void AddReachFlags(CLI::App& command, DataOptions* options, DataFlags* flags,
                   const std::string& group);

// Declares --cache, --readers and --max_bad_rows.
void AddReaderFlags(CLI::App& command, DataOptions* options);

// Fills options->format and options->schemes from the flags.
void SettleDataFlags(const DataFlags& flags, DataOptions* options);

}  // namespace flotilla
