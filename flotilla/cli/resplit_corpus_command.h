// `flotilla data corpus resplit`: splits the lines of a corpus into N files of equal size.
#pragma once

#include "flotilla/fleet/action.h"
#include "flotilla/fleet/cli_fwd.h"

namespace flotilla {

// Adds the subcommand to `corpus`; if it is chosen, *action becomes its action.
// REQUIRES: action outlives the parsing.
void AddResplitCorpusCommand(CLI::App& corpus, Action* action);

}  // namespace flotilla
