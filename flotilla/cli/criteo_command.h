// `flotilla data criteo`: prepares raw Criteo text for training.
#pragma once

#include "flotilla/fleet/action.h"
#include "flotilla/fleet/cli_fwd.h"

namespace flotilla {

// Adds the subcommand "criteo" to `data`; if it is chosen, *action becomes its action.
// REQUIRES: action outlives the parsing.
void AddCriteoCommand(CLI::App& data, Action* action);

}  // namespace flotilla
