// Runs the processes of a job on this machine and shows their progress as one job: for `flotilla
// launch`, and for training runs that start their servers and trainers themselves.
#pragma once

#include <span>
#include <string>

#include "flotilla/base/status.h"
#include "flotilla/launch/local_cluster.h"
#include "flotilla/run/terminal.h"
#include "flotilla/run/train_options.h"

namespace flotilla {

// Runs the cluster until all processes have ended. Shows a live line that sums up the trainers, and
// the lines of their epochs; programs that do not report progress have neither. The exit code of
// the first process that failed becomes the terminal's. Ctrl-C and SIGTERM stop all processes.
Status RunCluster(LocalClusterOptions options, Terminal& terminal);

// Starts server_num servers and worker_num trainers: this program in each role, with the same
// arguments followed by `more`, and prints the results of trainer 0. If neither a flag nor CPU_NUM
// gives the number of workers of a trainer, the trainers share the cores.
Status TrainInCluster(const FleetOptions& options, std::span<const std::string> more,
                      Terminal& terminal);

}  // namespace flotilla
