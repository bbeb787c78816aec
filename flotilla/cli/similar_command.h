// `flotilla similar`: the words nearest to a word, or to a sum of words; and how well vectors score
// on analogies and similarities.
#pragma once

#include "flotilla/fleet/action.h"
#include "flotilla/fleet/cli_fwd.h"

namespace flotilla {

// Adds the subcommand to `app`; if it is chosen, *action becomes its action.
// REQUIRES: action outlives the parsing.
void AddSimilarCommand(CLI::App& app, Action* action);

}  // namespace flotilla
