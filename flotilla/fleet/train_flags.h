// The flags of training on rows, shared by `flotilla train` and every program with fl::Main.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/fleet/cli_fwd.h"
#include "flotilla/fleet/data_flags.h"
#include "flotilla/fleet/run_flags.h"
#include "flotilla/run/train_options.h"
#include "flotilla/trainer/config.h"

namespace flotilla {

// Values of the command line, before SettleTrainFlags.
struct TrainFlags {
  TrainOptions options;
  Config::Values model_values;  // the model's own flags

  RunFlags run;
  DataFlags data;
  std::string task;               // --task
  std::optional<bool> in_memory;  // default true
  std::optional<bool> shuffle;    // default: true if the rows are in memory
};

// Declares all flags except those of the model. REQUIRES: flags outlives the command.
void AddTrainFlags(CLI::App& command, TrainFlags* flags);

// Declares the flags that a model reads (Config::flags()); they fill flags->model_values.
// Returns an error if `command` already has a flag of that name.
Status AddModelFlags(CLI::App& command, std::span<const Config::Flag> model_flags,
                     TrainFlags* flags);

// Declares --schema, --label, --task and --rows, for models that take their inputs from the data
// (run/row_features.h).
void AddSchemaFlags(CLI::App& command, TrainFlags* flags);

// Runs the checks that need several flags, and fills flags->options from the other members. Errors
// are usage errors.
Status SettleTrainFlags(TrainFlags* flags);

// The checks that need the model. REQUIRES: SettleTrainFlags has succeeded.
Status CheckModelFlags(const Model& model, const TrainOptions& options);

}  // namespace flotilla
