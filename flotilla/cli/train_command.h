// `flotilla train MODEL`: a command for each built-in model, with the flags that it has. run/ does
// the work.
#pragma once

#include "flotilla/fleet/action.h"
#include "flotilla/fleet/cli_fwd.h"

namespace flotilla {

// Adds the subcommand to `app`; if it is chosen, *action becomes its action.
// REQUIRES: action outlives the parsing.
void AddTrainCommand(CLI::App& app, Action* action);

}  // namespace flotilla
