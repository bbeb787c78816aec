// A training run over servers, but for a trainer's part in it (train_run.h): starting everything on
// this machine, serving, and what both have in common.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "flotilla/base/interrupt.h"
#include "flotilla/base/status.h"
#include "flotilla/fleet/fleet.h"
#include "flotilla/fleet/terminal.h"
#include "flotilla/fleet/train_options.h"
#include "flotilla/trainer/model.h"

namespace flotilla {

// Tells *fleet the process's part in the run of a model that options describe: the next is
// init_server or init_worker. `interrupt` may be null. REQUIRES: terminal and interrupt outlive the
// fleet, which is new.
Status InitFleet(const FleetOptions& options, const Model& model, uint64_t seed, Terminal& terminal,
                 Interrupt* interrupt, Fleet* fleet);

// The part of server_num and worker_num: starts this program again in each role, with the same
// arguments and `more` behind them, and prints what trainer 0 has to print. Where neither a flag
// nor CPU_NUM says how many workers a trainer has, the trainers share the cores.
Status TrainInCluster(const FleetOptions& options, std::span<const std::string> more,
                      Terminal& terminal);

// The part of a server: serves the model's parameters until the trainers have ended.
Status ServeModel(const FleetOptions& options, const Model& model, uint64_t seed,
                  Terminal& terminal);

}  // namespace flotilla
