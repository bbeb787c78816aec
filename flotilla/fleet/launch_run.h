// Runs the processes of a job on this machine and shows their progress as one job: for `flotilla
// launch`, and for training runs that start their servers and trainers themselves.
#pragma once

#include "flotilla/base/status.h"
#include "flotilla/fleet/terminal.h"
#include "flotilla/launch/local_cluster.h"

namespace flotilla {

// Runs the cluster until all processes have ended. Shows a live line that sums up the trainers, and
// the lines of their epochs; programs that do not report progress have neither. The exit code of
// the first process that failed becomes the terminal's. Ctrl-C and SIGTERM stop all processes.
Status RunCluster(LocalClusterOptions options, Terminal& terminal);

}  // namespace flotilla
