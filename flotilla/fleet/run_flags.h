// The flags that every training run has, whatever it trains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/base/console.h"
#include "flotilla/base/status.h"
#include "flotilla/fleet/cli_fwd.h"
#include "flotilla/fleet/fleet_flags.h"
#include "flotilla/run/run_options.h"

namespace flotilla {

// Values of the command line, before SettleRunFlags.
struct RunFlags {
  FleetFlags fleet;
  std::optional<int> threads;  // default: that of the role, else the number of cores
  // Bytes; default: a share of the limit of the process's control group, if it has one.
  std::optional<uint64_t> max_memory;
  std::string log_format = "text";
};

// Each declares some of the flags, so that a command shows them in its own order. REQUIRES: the
// pointers outlive the command.
//
// --out, --resume, --overwrite.
void AddOutFlags(CLI::App& command, KeepOptions* keep);
// --epochs, --threads, --max_memory, --seed, --deterministic. `data` is what an epoch passes over.
void AddEpochFlags(CLI::App& command, const std::string& data, const std::string& deterministic,
                   RunOptions* options, RunFlags* flags);
// --save_epochs, --save_steps, --save_minutes, --keep.
void AddSaveFlags(CLI::App& command, KeepOptions* keep);
// Mode, servers and trainers (fleet_flags.h). `splits` are the values of --data_split.
void AddJobFlags(CLI::App& command, const std::vector<std::string>& splits, RunOptions* options,
                 RunFlags* flags);
// --json, --plot, --log_format, --progress_seconds.
void AddViewFlags(CLI::App& command, RunOptions* options, RunFlags* flags);

// The groups of the flags that only --help_all shows.
inline constexpr char kSaveGroup[] = "Saving and loading models";
inline constexpr char kViewGroup[] = "Output and progress";

// Runs the checks that need several flags, and fills *options from the other values. Errors are
// usage errors.
Status SettleRunFlags(const RunFlags& flags, RunOptions* options);

// Sets how the console shows progress and messages, from the options.
void SetView(const ViewOptions& options, ConsoleOptions* console);

}  // namespace flotilla
