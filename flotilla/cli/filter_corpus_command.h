// `flotilla data corpus filter`: converts a corpus to ids and down-samples its frequent
// words.
#pragma once

#include "flotilla/fleet/action.h"
#include "flotilla/fleet/cli_fwd.h"

namespace flotilla {

// Adds the subcommand to `corpus`; if it is chosen, *action becomes its action.
// REQUIRES: action outlives the parsing.
void AddFilterCorpusCommand(CLI::App& corpus, Action* action);

}  // namespace flotilla
