// Runs the processes of a job on this machine and shows their progress as one job: for `flotilla
// launch`, and for training runs that start their servers and trainers themselves.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "flotilla/base/status.h"
#include "flotilla/launch/local_cluster.h"
#include "flotilla/run/terminal.h"
#include "flotilla/run/train_options.h"

namespace flotilla {

// What happens when a process of a job is lost (ExitState::lost). Other failures are permanent.
struct Restarts {
  // All processes are started again, at most this many times in a row without `next` reporting
  // progress.
  int limit = 0;
  // Called before each restart with the options of the last start, to change them for the next one.
  // Returns whether the job has made progress that the next start continues from.
  std::function<StatusOr<bool>(LocalClusterOptions*)> next;
};

// Runs the cluster until all processes have ended. Shows a live line that sums up the trainers, and
// the lines of their epochs; programs that do not report progress have neither. The exit code of
// the first process that failed becomes the terminal's. Ctrl-C and SIGTERM stop all processes.
Status RunCluster(LocalClusterOptions options, const Restarts& restarts, Terminal& terminal);

// Starts server_num servers and worker_num trainers: this program in each role, with the same
// arguments followed by `more`, and prints the results of trainer 0. If neither a flag nor CPU_NUM
// gives the number of workers of a trainer, the trainers share the cores. A job that loses a
// process is restarted, up to max_restarts times since its last save in `out` (empty: it saves
// nothing), and resumes from that.
Status TrainInCluster(const FleetOptions& options, const std::string& out,
                      std::span<const std::string> more, Terminal& terminal);

}  // namespace flotilla
