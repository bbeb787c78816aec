// The processes of a job on this machine.
#include <pybind11/stl.h>
#include <signal.h>

#include <map>
#include <string>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/launch/free_port.h"
#include "flotilla/launch/job_environment.h"
#include "flotilla/launch/local_cluster.h"
#include "flotilla/python/listener.h"

namespace flotilla::python {
namespace {

// Runs the command as servers and trainers until all of them have ended. Returns the exit code and
// the name ("worker 1") of the first that failed; 0 and nothing if none did.
std::pair<int, std::string> LaunchLocal(std::vector<std::string> command, int servers, int workers,
                                        const std::string& log_dir,
                                        std::map<std::string, std::string> variables,
                                        double grace_seconds) {
  const SteadyClock clock;
  ClusterResult result;
  RunInterruptibly([&](StopRequest& stop) -> Status {
    LocalClusterOptions options{.command = std::move(command), .log_dir = log_dir};
    FL_ASSIGN_OR_RETURN(options.servers, FreeAddresses(servers, /*start_port=*/0));
    options.trainer_hosts.assign(static_cast<size_t>(workers), "127.0.0.1");
    options.grace_seconds = grace_seconds;
    options.variables = std::move(variables);
    options.variables[kJobIdVariable] = NewJobId();
    LocalCluster cluster(std::move(options), &clock, [](std::string_view) {});
    FL_ASSIGN_OR_RETURN(result, cluster.Run([&] { return stop.made() ? SIGINT : 0; }, [] {}));
    return absl::OkStatus();
  });
  return {result.exit_code, result.failed};
}

}  // namespace

void BindLaunch(py::module_& m) {
  m.def("launch_local", &LaunchLocal, py::arg("command"), py::arg("servers"), py::arg("workers"),
        py::arg("log_dir"), py::arg("variables"), py::arg("grace_seconds"));
}

}  // namespace flotilla::python
