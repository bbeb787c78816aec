// `flotilla inspect`: verifies a model directory and shows its contents.
#pragma once

#include "flotilla/fleet/action.h"
#include "flotilla/fleet/cli_fwd.h"

namespace flotilla {

// Adds the subcommand to `app`; if it is chosen, *action becomes its action.
// REQUIRES: action outlives the parsing.
void AddInspectCommand(CLI::App& app, Action* action);

}  // namespace flotilla
