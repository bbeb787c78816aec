// The flags that say how rows are written and read: the same for training and for whatever else
// reads a model's rows.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "flotilla/fleet/train_options.h"

namespace flotilla {

// What the command line said, before SettleDataFlags; the rest goes straight into DataOptions.
struct DataFlags {
  std::string numeric;
  std::vector<std::string> format_params;  // KEY=VALUE
  std::vector<std::string> schemes;        // NAME=CMD
};

// What help says that a PATH of rows may be.
inline constexpr char kPathsHelp[] =
    "files, directories, patterns, @LIST, - (standard input), hdfs:..; plain, .gz or .zst";

// Declares --format, --format_param, --numeric, --pipe_command, --pipe_timeout and --scheme.
// REQUIRES, here and below: flags and options outlive the command.
void AddFormatFlags(CLI::App& command, DataOptions* options, DataFlags* flags);

// Declares --ignore_format, for commands that read rows for a saved model.
void AddIgnoreFormatFlag(CLI::App& command, DataOptions* options);

// Declares --pipe_timeout and --scheme, which AddFormatFlags has too: how bytes are reached, for
// commands that parse no rows.
void AddReachFlags(CLI::App& command, DataOptions* options, DataFlags* flags,
                   const std::string& group);

// Declares --cache, --readers and --max_bad_rows.
void AddReaderFlags(CLI::App& command, DataOptions* options);

// Fills options->format and options->schemes from the flags.
void SettleDataFlags(const DataFlags& flags, DataOptions* options);

}  // namespace flotilla
