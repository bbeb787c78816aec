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
#include "flotilla/run/run_dir.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;

// How long the others run after a process was lost, if the job is restarted: they may tell the
// cause in their logs.
constexpr double kLostSeconds = 1;

// Flags that are only for the process that starts the others.
constexpr const char* kOwnFlags[] = {"--server_num", "--worker_num", "--start_port", "--log_dir",
                                     "--max_restarts"};

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

// Makes a command that started a run the one that continues it: what it said about the start has
// been done.
void ContinueRun(std::vector<std::string>* command) {
  for (const char* flag : {"--overwrite", "--resume"}) std::erase(*command, flag);
  command->push_back("--resume");
}

// The newest model of a run and when it was written; empty: none.
std::string NewestModel(const std::string& out) {
  if (out.empty()) return "";
  const StatusOr<std::string> model = FindResumed(out, [](std::string_view) {});
  if (!model.ok() || model->empty()) return "";
  std::error_code error;
  const fs::path dir = fs::canonical(*model, error);
  const auto written = fs::last_write_time(dir, error);
  return fmt::format("{} {}", dir.string(), written.time_since_epoch().count());
}

StatusOr<ClusterResult> RunOnce(const LocalClusterOptions& options, const StopSignal& signal,
                                Terminal& terminal) {
  std::optional<JobView> view;  // the files are known once the processes are started
  const auto show_lines = [&] {
    if (!view) return;
    for (const std::string& line : view->NewLines()) terminal.log.info("{}", line);
  };
  LocalCluster cluster(options, &terminal.clock, [&](std::string_view line) {
    show_lines();  // lines of a process that has ended come before the message about its end
    terminal.log.info("{}", line);
  });
  const auto show = [&] {
    if (!view) view.emplace(cluster.status_files(), &terminal.clock);
    show_lines();
    if (view->Look()) terminal.console.Update([&] { return view->moment(); });
  };
  StatusOr<ClusterResult> result = cluster.Run([&] { return signal.signal(); }, show);
  terminal.console.EndTask();
  return result;
}

}  // namespace

Status RunCluster(LocalClusterOptions options, const Restarts& restarts, Terminal& terminal) {
  const StopSignal signal;
  if (restarts.limit > 0) options.hear_seconds = options.lost_grace_seconds = kLostSeconds;
  for (int count = 1;; ++count) {
    FL_ASSIGN_OR_RETURN(const ClusterResult result, RunOnce(options, signal, terminal));
    terminal.exit_code = result.exit_code;
    if (!result.lost || restarts.limit == 0 || signal.stopped()) return absl::OkStatus();
    FL_ASSIGN_OR_RETURN(const bool progress, restarts.next(&options));
    if (progress) count = 1;
    if (count > restarts.limit) {
      terminal.log.error("{} was lost; the job was restarted {} times without a new save and ends",
                         result.failed, restarts.limit);
      return absl::OkStatus();
    }
    options.append_logs = true;
    terminal.log.warn("{} was lost: restarting all processes {} (restart {} of at most {})",
                      result.failed, progress ? "from the last save" : "from the same start", count,
                      restarts.limit);
  }
}

Status TrainInCluster(const FleetOptions& fleet, const std::string& out,
                      std::span<const std::string> more, Terminal& terminal) {
  LocalClusterOptions cluster;
  std::error_code error;
  const std::string program = fs::read_symlink("/proc/self/exe", error).string();
  if (error) return Internal("/proc/self/exe: {}", error.message());
  cluster.command = {program};
  for (std::string& arg : WithoutOwnFlags(terminal.args)) cluster.command.push_back(std::move(arg));
  cluster.command.insert(cluster.command.end(), more.begin(), more.end());
  FL_ASSIGN_OR_RETURN(cluster.servers, FreeAddresses(fleet.server_num, fleet.start_port));
  cluster.trainer_hosts.assign(static_cast<size_t>(fleet.worker_num), "127.0.0.1");
  cluster.log_dir = fleet.log_dir;
  const std::string results = fleet.log_dir + "/results";
  fs::remove(results, error);
  cluster.variables = {{kJobIdVariable, NewJobId()}, {kResultFileVariable, results}};
  if (!fleet.role.threads) {
    cluster.variables["CPU_NUM"] = fmt::to_string(std::max(1, Cores() / fleet.worker_num));
  }
  Restarts restarts{.limit = fleet.max_restarts};
  restarts.next = [&,
                   newest = NewestModel(out)](LocalClusterOptions* next) mutable -> StatusOr<bool> {
    FL_ASSIGN_OR_RETURN(next->servers, FreeAddresses(fleet.server_num, fleet.start_port));
    next->variables[kJobIdVariable] = NewJobId();
    const std::string before = std::exchange(newest, NewestModel(out));
    if (newest.empty() || newest == before) return false;
    ContinueRun(&next->command);
    return true;
  };
  FL_RETURN_IF_ERROR(RunCluster(std::move(cluster), restarts, terminal));
  if (terminal.exit_code != 0) return absl::OkStatus();
  std::ifstream file(results);
  terminal.out << file.rdbuf();
  fs::remove(results, error);
  return absl::OkStatus();
}

}  // namespace flotilla
