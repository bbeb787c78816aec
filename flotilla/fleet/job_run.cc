#include "flotilla/fleet/job_run.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include "flotilla/base/stop_signal.h"
#include "flotilla/fleet/flags.h"
#include "flotilla/fleet/launch_run.h"
#include "flotilla/launch/free_port.h"
#include "flotilla/launch/job_environment.h"

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

Status InitFleet(const FleetOptions& options, const Model& model, uint64_t seed, Terminal& terminal,
                 Interrupt* interrupt, Fleet* fleet) {
  FL_RETURN_IF_ERROR(
      fleet->init({.role = options.role,
                   .environment = {},
                   .job = options.job,
                   .seed = seed,
                   .interrupt = interrupt,
                   .log = [&](std::string_view line) { terminal.log.info("{}", line); },
                   .clock = &terminal.clock}));
  return fleet->distributed_optimizer(model, {.mode = options.job.mode.mode});
}

Status ServeModel(const FleetOptions& options, const Model& model, uint64_t seed,
                  Terminal& terminal) {
  const StopSignal signal;
  Fleet fleet;
  FL_RETURN_IF_ERROR(InitFleet(options, model, seed, terminal, nullptr, &fleet));
  FL_RETURN_IF_ERROR(fleet.init_server());
  const Status status = fleet.run_server([&] { return signal.stopped(); });
  if (signal.stopped()) {
    terminal.log.info("stopped by signal {}: {}", signal.signal(),
                      status.ok() ? "the trainers have ended" : Message(status));
    terminal.exit_code = signal.exit_code();
    return absl::OkStatus();
  }
  return status;
}

}  // namespace flotilla
