// `flotilla train word2vec`: the flags of run/word2vec_task.h and the form of its results.
#pragma once

#include "flotilla/fleet/action.h"
#include "flotilla/fleet/cli_fwd.h"

namespace flotilla {

// Adds the command to `train`; if it is chosen, *action becomes its action.
// REQUIRES: action outlives the parsing.
void AddTrainWord2VecCommand(CLI::App& train, Action* action);

}  // namespace flotilla
