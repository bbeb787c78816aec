// The flags of training: the same for `flotilla train` and for every program with fl::Main.
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/console.h"
#include "flotilla/base/status.h"
#include "flotilla/fleet/config.h"
#include "flotilla/fleet/data_flags.h"
#include "flotilla/fleet/fleet_flags.h"
#include "flotilla/fleet/train_options.h"

namespace flotilla {

// What the command line said, before SettleTrainFlags.
struct TrainFlags {
  TrainOptions options;
  Config::Values model_values;  // the model's own flags

  FleetFlags fleet;
  std::optional<int> threads;  // default: what the role says, else the number of cores
  std::string log_format = "text";
  DataFlags data;
  std::optional<bool> in_memory;  // default true
  std::optional<bool> shuffle;    // default: where the rows are in memory
};

// Declares all flags but the model's own. REQUIRES: flags outlives the command.
void AddTrainFlags(CLI::App& command, TrainFlags* flags);

// Declares the flags that a model reads (Config::flags()); they fill flags->model_values.
// An error when one has the name of a flag that `command` already has.
Status AddModelFlags(CLI::App& command, std::span<const Config::Flag> model_flags,
                     TrainFlags* flags);

// Checks what needs the model or several flags at once, and fills flags->options from the others.
// An error is a usage error.
Status SettleTrainFlags(const Model& model, TrainFlags* flags);

// Declares --log_format and --progress_seconds. REQUIRES: what they fill outlives the command.
void AddProgressFlags(CLI::App& command, const std::string& group, std::string* log_format,
                      ViewOptions* view);
// How the options want progress and messages shown.
void SetView(const ViewOptions& options, ConsoleOptions* console);

}  // namespace flotilla
