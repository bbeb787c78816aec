// `flotilla train`: the flags, their checks, and the printing of results. train_run.h does the
// work.
#pragma once

#include <CLI/App.hpp>

#include "flotilla/fleet/action.h"

namespace flotilla {

// Adds the subcommand to `app`; if it is chosen, *action becomes its action.
// REQUIRES: action outlives the parsing.
void AddTrainCommand(CLI::App& app, Action* action);

}  // namespace flotilla
