// `flotilla train`: the flags, their checks, and the printing of results. train_run.h does the
// work.
#pragma once

#include <CLI/App.hpp>
#include <string>

#include "flotilla/fleet/action.h"

namespace flotilla {

// Adds the subcommand to `app`; if it is chosen, *action becomes its action. Its help shows the
// flags of `model`, or of all models if there is no such model. REQUIRES: action outlives the
// parsing.
void AddTrainCommand(CLI::App& app, const std::string& model, Action* action);

}  // namespace flotilla
