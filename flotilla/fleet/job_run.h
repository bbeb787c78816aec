// A training run over servers, but for a trainer's part in it (train_run.h): starting everything on
// this machine, serving, and what both have in common.
#pragma once

#include "flotilla/base/status.h"
#include "flotilla/fleet/fleet.h"
#include "flotilla/fleet/terminal.h"
#include "flotilla/fleet/train_options.h"
#include "flotilla/trainer/model.h"

namespace flotilla {

// Tells *fleet the process's part in the run that options describe: the next is init_server or
// init_worker. REQUIRES: terminal outlives the fleet, which is new.
Status InitFleet(const TrainOptions& options, const Model& model, Terminal& terminal, Fleet* fleet);

// The part of options.fleet.server_num and worker_num: starts this program again in each role, and
// prints what trainer 0 has to print.
Status TrainInCluster(const TrainOptions& options, Terminal& terminal);

// The part of a server: serves the model's parameters until the trainers have ended.
Status ServeModel(const TrainOptions& options, const Model& model, Terminal& terminal);

}  // namespace flotilla
