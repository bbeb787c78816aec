#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <utility>

#include "flotilla/base/worker_pool.h"
#include "flotilla/cli/commands.h"
#include "flotilla/fleet/flags.h"
#include "flotilla/launch/free_port.h"
#include "flotilla/launch/job_environment.h"
#include "flotilla/rpc/address.h"
#include "flotilla/run/launch_run.h"

namespace flotilla {
namespace {

constexpr char kLaunchHelp[] = R"(
Everything after -- is the program and its arguments. It is started once per server and trainer, and
finds its role in environment variables: TRAINING_ROLE (TRAINER or PSERVER), PADDLE_TRAINERS_NUM,
PADDLE_TRAINER_ID, PADDLE_PSERVERS_IP_PORT_LIST, CPU_NUM, and for a server POD_IP and PADDLE_PORT.
If a process fails, all others are stopped, the end of the log of the first one that failed is
shown, and its exit code is returned; with --max_restarts the job is started again first.

On a cluster, run the same command with --servers and --workers on every host, each with its own
--host; every host starts its own part.

Examples:
  flotilla launch --server_num 2 --worker_num 2 -- ./my_program --data train/
  flotilla launch --servers 10.0.0.1:6170,10.0.0.2:6170 --workers 10.0.0.1,10.0.0.2 --host 10.0.0.1 \
      -- ./my_program --data train/)";

struct LaunchFlags {
  int server_num = 1;
  int worker_num = 1;
  std::vector<std::string> servers;  // host:port
  std::vector<std::string> workers;  // hosts
  std::string host;
  int start_port = 0;
  int threads = 0;
  int max_restarts = 0;
  LocalClusterOptions cluster;
};

Status CheckLaunch(LaunchFlags* flags) {
  if (flags->cluster.command.empty()) {
    return InvalidArgument("no program was given: put it and its arguments after --");
  }
  if (flags->servers.empty() != flags->workers.empty()) {
    return InvalidArgument("--servers and --workers belong together: give both or neither");
  }
  for (const std::string& server : flags->servers) {
    FL_RETURN_IF_ERROR(Annotate(CheckAddress(server), "--servers"));
  }
  if (!flags->servers.empty() && flags->host.empty()) {
    return InvalidArgument("--servers and --workers need --host, the name of this host in them");
  }
  return absl::OkStatus();
}

Status Launch(const LaunchFlags& flags, Terminal& terminal) {
  LocalClusterOptions cluster = flags.cluster;
  // All hosts of a job must use the same id, so a random one is possible only if everything is
  // started here.
  cluster.variables[kJobIdVariable] = flags.servers.empty() ? NewJobId() : flags.servers[0];
  if (flags.threads > 0) cluster.variables["CPU_NUM"] = fmt::to_string(flags.threads);
  if (flags.servers.empty()) {
    FL_ASSIGN_OR_RETURN(cluster.servers, FreeAddresses(flags.server_num, flags.start_port));
    cluster.trainer_hosts.assign(static_cast<size_t>(flags.worker_num), "127.0.0.1");
    if (flags.threads == 0 && !ProcessEnvironment().contains("CPU_NUM")) {
      cluster.variables["CPU_NUM"] = fmt::to_string(std::max(1, Cores() / flags.worker_num));
    }
  } else {
    cluster.servers = flags.servers;
    cluster.trainer_hosts = flags.workers;
    cluster.own_hosts = {flags.host};
  }
  Restarts restarts{.limit = flags.max_restarts};
  restarts.next = [&flags](LocalClusterOptions* next) -> StatusOr<bool> {
    if (!flags.servers.empty()) return false;
    FL_ASSIGN_OR_RETURN(next->servers, FreeAddresses(flags.server_num, flags.start_port));
    next->variables[kJobIdVariable] = NewJobId();
    return false;
  };
  return RunCluster(std::move(cluster), restarts, terminal);
}

void AddCounts(CLI::App& command, LaunchFlags& flags) {
  AddOption(command, "--server_num", flags.server_num, "Number of servers to start on this machine",
            "N", WholeNumber(1, 512));
  AddOption(command, "--worker_num", flags.worker_num,
            "Number of trainers to start on this machine", "N", WholeNumber(1, 512));
  AddOption(command, "--start_port", flags.start_port,
            "First port of the servers (0: any free ports)", "N", WholeNumber(0, 65535));
  AddOption(command, "--threads", flags.threads,
            "Threads (CPU_NUM) of each trainer (0: CPU_NUM of the environment, else the cores are "
            "divided among the trainers)",
            "N", WholeNumber(0, kMaxThreads));
  AddOption(command, "--max_restarts", flags.max_restarts,
            "Restart all processes when one is lost (killed, or exit code 128 to 255), at most N "
            "times; the program must continue by itself where it stopped (0: end the job)",
            "N", WholeNumber(0, 1'000'000));
}

void AddHosts(CLI::App& command, LaunchFlags& flags) {
  command
      .add_option("--servers", flags.servers, "All servers of a cluster, as host:port,host:port")
      ->type_name("LIST")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option("--workers", flags.workers,
                  "Hosts of the trainers of the cluster, one entry per trainer")
      ->type_name("LIST")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--host", flags.host, "Name of this host in --servers and --workers")
      ->type_name("NAME");
  command
      .add_option("--log_dir", flags.cluster.log_dir,
                  "Directory for the logs of the processes: serverlog.N and workerlog.N")
      ->type_name("DIR")
      ->capture_default_str();
  AddOption(command, "--grace_seconds", flags.cluster.grace_seconds,
            "Seconds between asking processes to end (SIGTERM) and killing them", "X", AboveZero());
}

}  // namespace

void AddLaunchCommand(CLI::App& app, Action* action) {
  auto flags = std::make_shared<LaunchFlags>();
  CLI::App* command = app.add_subcommand(
      "launch", "Starts the servers and trainers of any program and monitors them");
  AddCounts(*command, *flags);
  AddHosts(*command, *flags);
  command->add_option("PROGRAM", flags->cluster.command, "The program and its arguments, after --")
      ->type_name("");
  command->footer(kLaunchHelp);
  SetAction(*command, action, flags, CheckLaunch, Launch);
}

}  // namespace flotilla
