// `flotilla inspect`: verifies a model directory and shows its contents.
#pragma once

#include <CLI/App.hpp>

#include "flotilla/fleet/action.h"

namespace flotilla {

// Adds the subcommand to `app`; if it is chosen, *action becomes its action.
// REQUIRES: action outlives the parsing.
void AddInspectCommand(CLI::App& app, Action* action);

}  // namespace flotilla
