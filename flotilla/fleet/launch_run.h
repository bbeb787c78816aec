// Runs a job of processes on this machine and shows it as one: `flotilla launch`, and training runs
// that start their servers and trainers themselves.
#pragma once

#include "flotilla/base/status.h"
#include "flotilla/fleet/terminal.h"
#include "flotilla/launch/local_cluster.h"

namespace flotilla {

// Runs the cluster until all has ended, with a live line that sums up the trainers and the lines of
// their epochs; programs that tell nothing of themselves have neither. The exit code
// of the first process that failed becomes the terminal's. Ctrl-C and SIGTERM stop all.
Status RunCluster(LocalClusterOptions options, Terminal& terminal);

}  // namespace flotilla
