// `flotilla train word2vec`: the flags of fleet/word2vec_run.h and the form of its results.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "flotilla/fleet/action.h"

namespace flotilla {

// The name of the subcommand. It is separate from `train` because its flags differ from those of
// other models.
inline constexpr char kTrainWord2VecCommand[] = "train_word2vec";

// Replaces `train word2vec` at the front of *args by the name of the subcommand.
void RouteTrainWord2Vec(std::vector<std::string>* args);

// Adds the subcommand to `app`; if it is chosen, *action becomes its action.
// REQUIRES: action outlives the parsing.
void AddTrainWord2VecCommand(CLI::App& app, Action* action);

}  // namespace flotilla
