// `flotilla launch`: starts servers and trainers of any program, on this machine or this host's
// part of a cluster, and monitors them.
#pragma once

#include "flotilla/fleet/action.h"
#include "flotilla/fleet/cli_fwd.h"

namespace flotilla {

// Adds the subcommand to `app`; if it is chosen, *action becomes its action.
// REQUIRES: action outlives the parsing.
void AddLaunchCommand(CLI::App& app, Action* action);

}  // namespace flotilla
