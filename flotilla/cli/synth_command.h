// `flotilla data synth criteo`: generates files of rows in raw Criteo text from a known (planted)
// model, and reports the best quality that any model can reach on them.
#pragma once

#include "flotilla/fleet/action.h"
#include "flotilla/fleet/cli_fwd.h"

namespace flotilla {

// Adds the subcommand "criteo" to `synth`; if it is chosen, *action becomes its action.
// REQUIRES: action outlives the parsing.
void AddSynthCriteoCommand(CLI::App& synth, Action* action);

}  // namespace flotilla
