// `flotilla data check`: whether rows fit a model's inputs, and where they do not.
#pragma once

#include "flotilla/fleet/action.h"
#include "flotilla/fleet/cli_fwd.h"

namespace flotilla {

// Adds the subcommand "check" to `data`; if it is chosen, *action becomes its action.
// REQUIRES: action outlives the parsing.
void AddCheckCommand(CLI::App& data, Action* action);

}  // namespace flotilla
