// Training without the choice of a model: a few models of the zoo race on the same rows (race.h),
// and the winner, or the mean of the two best, is trained on all rows and saved like any other
// model. Also trains several named models on the same rows and compares them. In one process; rows
// are read once and stay in memory.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/models/zoo.h"
#include "flotilla/run/run.h"
#include "flotilla/run/terminal.h"
#include "flotilla/run/train_options.h"

namespace flotilla {

struct AutoOptions {
  double holdout = 0.1;  // share of the rows that is held back during the race
  // Whether the last rows are held back, otherwise rows at random places. Not set: the last ones if
  // the rows are in the order of time, as a time column tells.
  std::optional<bool> last;
  // More rows than that take no part in the race.
  int64_t max_rows = 2000000;
};

// Races cheap models whose errors differ, trains the choice on all rows, and prints what led to it
// and the results in the form that options.view selects. Epochs and batch sizes are those of the
// race. Errors as RunAndReport. `host` hears of the training of the choice, not of the race; its
// stop request ends both. REQUIRES: one process; nothing to resume or to start from; host.job is
// null.
Status TrainAuto(const TrainOptions& options, const AutoOptions& race, Terminal& terminal,
                 const RunHost& host = {});

struct ModelsOptions {
  std::vector<const ZooModel*> models;
  // Not set: those of the recipe of each model.
  std::optional<int64_t> epochs, batch_size;
};

// Trains every model on all rows, tests it and saves it in OUT/NAME; prints the results and the
// paired difference of each pair on the test rows. REQUIRES: as TrainAuto; there are test rows.
Status TrainModels(const TrainOptions& options, const ModelsOptions& models, Terminal& terminal);

}  // namespace flotilla
