#include "flotilla/run/launch_run.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "flotilla/base/stop_signal.h"
#include "flotilla/base/worker_pool.h"
#include "flotilla/launch/free_port.h"
#include "flotilla/launch/job_environment.h"
#include "flotilla/run/job_status.h"

namespace flotilla {
namespace {

// Flags that are only for the process that starts the others.
constexpr const char* kOwnFlags[] = {"--server_num", "--worker_num", "--start_port", "--log_dir"};

std::vector<std::string> WithoutOwnFlags(const std::vector<std::string>& args) {
  std::vector<std::string> rest;
  for (size_t i = 0; i < args.size(); ++i) {
    const std::string name = args[i].substr(0, args[i].find('='));
    const bool own =
        std::find(std::begin(kOwnFlags), std::end(kOwnFlags), name) != std::end(kOwnFlags);
    if (!own) {
      rest.push_back(args[i]);
    } else if (args[i].find('=') == std::string::npos) {
      ++i;  // its value
    }
  }
  return rest;
}

}  // namespace

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

Status TrainInCluster(const FleetOptions& fleet, std::span<const std::string> more,
                      Terminal& terminal) {
  LocalClusterOptions cluster;
  std::error_code error;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (error) return Internal("/proc/self/exe: {}", error.message());
  cluster.command = {program};
  for (std::string& arg : WithoutOwnFlags(terminal.args)) cluster.command.push_back(std::move(arg));
  cluster.command.insert(cluster.command.end(), more.begin(), more.end());
  FL_ASSIGN_OR_RETURN(cluster.servers, FreeAddresses(fleet.server_num, fleet.start_port));
  cluster.trainer_hosts.assign(static_cast<size_t>(fleet.worker_num), "127.0.0.1");
  cluster.log_dir = fleet.log_dir;
  const std::string results = fleet.log_dir + "/results";
  std::filesystem::remove(results, error);
  cluster.variables = {{kJobIdVariable, NewJobId()}, {kResultFileVariable, results}};
  if (!fleet.role.threads) {
    cluster.variables["CPU_NUM"] = fmt::to_string(std::max(1, Cores() / fleet.worker_num));
  }
  FL_RETURN_IF_ERROR(RunCluster(std::move(cluster), terminal));
  if (terminal.exit_code != 0) return absl::OkStatus();
  std::ifstream file(results);
  terminal.out << file.rdbuf();
  std::filesystem::remove(results, error);
  return absl::OkStatus();
}

}  // namespace flotilla
