// Runs a job of processes on this machine and shows it as one: `flotilla launch`, and training runs
// that start their servers and trainers themselves.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/base/task_moment.h"
#include "flotilla/fleet/terminal.h"
#include "flotilla/launch/local_cluster.h"

namespace flotilla {

// The figures that trainers left in their status files, as one moment of the whole job. The speed
// of a trainer that has written nothing for some seconds falls with the age of its file.
TaskMoment JobMoment(const std::vector<std::string>& files, std::filesystem::file_time_type now);

// Runs the cluster until all has ended, with a live line that sums up the trainers. The exit code
// of the first process that failed becomes the terminal's. Ctrl-C and SIGTERM stop all.
Status RunCluster(LocalClusterOptions options, Terminal& terminal);

}  // namespace flotilla
