// `flotilla infer`: scores rows with saved models. The flags, and the run: models are opened one
// after the other and share the rows. infer_report.h prints, infer/evaluate.h does the work.
#pragma once

#include "flotilla/fleet/action.h"
#include "flotilla/fleet/cli_fwd.h"

namespace flotilla {

// Adds the subcommand to `app`; if it is chosen, *action becomes its action.
// REQUIRES: action outlives the parsing.
void AddInferCommand(CLI::App& app, Action* action);

}  // namespace flotilla
