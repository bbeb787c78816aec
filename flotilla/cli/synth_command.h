// `flotilla data synth criteo`: files of rows that a planted model generates, in raw Criteo text,
// with the best quality that any model could reach on them.
#pragma once

#include <CLI/App.hpp>

#include "flotilla/fleet/action.h"

namespace flotilla {

// Adds the subcommand "criteo" to `synth`; if it is chosen, *action becomes its action.
// REQUIRES: action outlives the parsing.
void AddSynthCriteoCommand(CLI::App& synth, Action* action);

}  // namespace flotilla
