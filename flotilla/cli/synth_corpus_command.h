// `flotilla data synth corpus`: generates text with known (planted) relations and its analogy
// questions.
#pragma once

#include "flotilla/fleet/action.h"
#include "flotilla/fleet/cli_fwd.h"

namespace flotilla {

// Adds the subcommand "corpus" to `synth`; if it is chosen, *action becomes its action.
// REQUIRES: action outlives the parsing.
void AddSynthCorpusCommand(CLI::App& synth, Action* action);

}  // namespace flotilla
