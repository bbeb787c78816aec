// `flotilla train word2vec`: the flags of fleet/word2vec_run.h and the form of its results.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "flotilla/fleet/action.h"

namespace flotilla {

// The subcommand's own name. Its flags are not those of other models, so it stands beside `train`.
inline constexpr char kTrainWord2VecCommand[] = "train_word2vec";

// Turns the words `train word2vec` at the front into the subcommand's name.
void RouteTrainWord2Vec(std::vector<std::string>* args);

// Adds the subcommand to `app`; if it is chosen, *action becomes its action.
// REQUIRES: action outlives the parsing.
void AddTrainWord2VecCommand(CLI::App& app, Action* action);

}  // namespace flotilla
