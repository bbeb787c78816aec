#include "flotilla/fleet/launch_run.h"

#include <optional>
#include <utility>

#include "flotilla/base/stop_signal.h"
#include "flotilla/fleet/job_status.h"

namespace flotilla {

Status RunCluster(LocalClusterOptions options, Terminal& terminal) {
  const StopSignal signal;
  std::optional<JobView> view;  // the files are known once the processes are started
  const auto show_lines = [&] {
    if (!view) return;
    for (const std::string& line : view->NewLines()) terminal.log.info("{}", line);
  };
  LocalCluster cluster(std::move(options), &terminal.clock, [&](std::string_view line) {
    show_lines();  // lines of a process that has ended come before the message about its end
    terminal.log.info("{}", line);
  });
  const auto show = [&] {
    if (!view) view.emplace(cluster.status_files(), &terminal.clock);
    show_lines();
    if (view->Look()) terminal.console.Update([&] { return view->moment(); });
  };
  FL_ASSIGN_OR_RETURN(const ClusterResult result,
                      cluster.Run([&] { return signal.signal(); }, show));
  terminal.console.EndTask();
  terminal.exit_code = result.exit_code;
  return absl::OkStatus();
}

}  // namespace flotilla
