// The parts of a training run over servers that are not a trainer's: starting everything on this
// machine, and serving.
#pragma once

#include "flotilla/base/status.h"
#include "flotilla/fleet/terminal.h"
#include "flotilla/fleet/train_options.h"
#include "flotilla/trainer/model.h"

namespace flotilla {

// The part of options.fleet.server_num and worker_num: starts this program again in each role, and
// prints what trainer 0 has to print.
Status TrainInCluster(const TrainOptions& options, Terminal& terminal);

// The part of a server: serves the model's parameters until the trainers have ended.
Status ServeModel(const TrainOptions& options, const Model& model, Terminal& terminal);

}  // namespace flotilla
