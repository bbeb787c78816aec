// `flotilla export`: writes a model's parameters and tables for other tools. infer/export_model.h
// does the work.
#pragma once

#include "flotilla/fleet/action.h"
#include "flotilla/fleet/cli_fwd.h"

namespace flotilla {

// Adds the subcommand to `app`; if it is chosen, *action becomes its action.
// REQUIRES: action outlives the parsing.
void AddExportCommand(CLI::App& app, Action* action);

}  // namespace flotilla
