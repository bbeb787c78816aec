// A training run with servers, except for the trainer's part (train_run.h): starting all processes
// on this machine, serving, and code shared by both.
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

// Initializes *fleet with the role of this process and the model; the next call is init_server or
// init_worker. `interrupt` may be null. REQUIRES: terminal and interrupt outlive the fleet; *fleet
// is new.
Status InitFleet(const FleetOptions& options, const Model& model, uint64_t seed, Terminal& terminal,
                 Interrupt* interrupt, Fleet* fleet);

// Starts server_num servers and worker_num trainers: this program in each role, with the same
// arguments followed by `more`, and prints the results of trainer 0. If neither a flag nor CPU_NUM
// gives the number of workers of a trainer, the trainers share the cores.
Status TrainInCluster(const FleetOptions& options, std::span<const std::string> more,
                      Terminal& terminal);

// Runs a server: serves the model's parameters until the trainers have ended.
Status ServeModel(const FleetOptions& options, const Model& model, uint64_t seed,
                  Terminal& terminal);

}  // namespace flotilla
