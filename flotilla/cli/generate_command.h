// `flotilla data generate`: runs a generator over raw files and writes its rows to files.
#pragma once

#include "flotilla/fleet/action.h"
#include "flotilla/fleet/cli_fwd.h"

namespace flotilla {

// Adds the subcommand "generate" to `data`; if it is chosen, *action becomes its action.
// REQUIRES: action outlives the parsing.
void AddGenerateCommand(CLI::App& data, Action* action);

}  // namespace flotilla
