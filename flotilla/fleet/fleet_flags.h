// The flags of a job with servers: mode, number of processes, options of the modes. Shared by all
// commands that train.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/fleet/cli_fwd.h"
#include "flotilla/fleet/role_flags.h"
#include "flotilla/run/train_options.h"

namespace flotilla {

// Values of flags that SettleFleetFlags evaluates.
struct FleetFlags {
  std::optional<std::string> mode;  // default: local, in a job with servers async
  std::string data_split;           // the first of the names that AddFleetFlags was given
  std::string geo_divisor = "touched";
  std::string save_via = "servers";
  std::optional<bool> shared_memory;  // default true
  RoleFlags role;
  // Flags that only modes with servers read, with the reason why local does not.
  std::vector<std::pair<const CLI::Option*, std::string>> of_servers;
  // Flags of the process that starts the others.
  std::vector<const CLI::Option*> of_launcher;
  // Flags that only modes with a certain trait read.
  std::vector<std::pair<const CLI::Option*, bool Mode::*>> of_modes;
};

// Declares the flags. `splits` are the values of --data_split, the default first.
// REQUIRES: options and flags outlive the command.
void AddFleetFlags(CLI::App& command, const std::vector<std::string>& splits, FleetOptions* options,
                   FleetFlags* flags);

// Reads the role and the variables for communication from the environment and fills *options from
// them and the flags. A contradiction is an error that names both sides; so is a flag that has no
// effect in the mode.
Status SettleFleetFlags(const FleetFlags& flags, bool deterministic, FleetOptions* options);

}  // namespace flotilla
