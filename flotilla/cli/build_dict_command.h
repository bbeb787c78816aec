// `flotilla data corpus build-dict`: counts the words of a corpus and writes the dictionary.
#pragma once

#include "flotilla/fleet/action.h"
#include "flotilla/fleet/cli_fwd.h"

namespace flotilla {

// Adds the subcommand to `corpus`; if it is chosen, *action becomes its action.
// REQUIRES: action outlives the parsing.
void AddBuildDictCommand(CLI::App& corpus, Action* action);

}  // namespace flotilla
