#include "flotilla/cli/launch_command.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <utility>

#include "flotilla/fleet/flags.h"
#include "flotilla/fleet/launch_run.h"
#include "flotilla/launch/free_port.h"
#include "flotilla/launch/job_environment.h"
#include "flotilla/rpc/address.h"

namespace flotilla {
namespace {

constexpr char kLaunchHelp[] = R"(
Everything behind -- is the program and its arguments; it runs once in each role, which these variables
tell it: TRAINING_ROLE (TRAINER, PSERVER), PADDLE_TRAINERS_NUM, PADDLE_TRAINER_ID,
PADDLE_PSERVERS_IP_PORT_LIST, POD_IP and PADDLE_PORT (of a server), CPU_NUM. The first process that fails
is shown with the end of its log, everything is stopped, and its exit code is returned.

On a cluster every host runs the same command with --servers and --workers, and starts its own part.

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
  LocalClusterOptions cluster;
};

Status CheckLaunch(LaunchFlags* flags) {
  if (flags->cluster.command.empty()) {
    return InvalidArgument("there is no program: put it and its arguments behind --");
  }
  if (flags->servers.empty() != flags->workers.empty()) {
    return InvalidArgument("--servers and --workers belong together: give both or none");
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
  // Hosts of one job must agree: only where all is started here may the name be made up.
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
  return RunCluster(std::move(cluster), terminal);
}

void AddCounts(CLI::App& command, LaunchFlags& flags) {
  command.add_option("--server_num", flags.server_num, "Servers to start on this machine")
      ->type_name("N")
      ->check(WholeNumber(1, 512))
      ->capture_default_str();
  command.add_option("--worker_num", flags.worker_num, "Trainers to start on this machine")
      ->type_name("N")
      ->check(WholeNumber(1, 512))
      ->capture_default_str();
  command
      .add_option("--start_port", flags.start_port, "First port of the servers; 0: any free ones")
      ->type_name("N")
      ->check(WholeNumber(0, 65535))
      ->capture_default_str();
  command
      .add_option(
          "--threads", flags.threads,
          "CPU_NUM of each trainer (0: CPU_NUM of the environment, else the cores shared out)")
      ->type_name("N")
      ->check(WholeNumber(0, kMaxThreads))
      ->capture_default_str();
}

void AddHosts(CLI::App& command, LaunchFlags& flags) {
  command.add_option("--servers", flags.servers, "Servers of a cluster, host:port,host:port")
      ->type_name("LIST")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--workers", flags.workers, "Hosts of its trainers, one for each trainer")
      ->type_name("LIST")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--host", flags.host, "This host, as the two lists name it")
      ->type_name("NAME");
  command
      .add_option("--log_dir", flags.cluster.log_dir,
                  "Where serverlog.N and workerlog.N are written")
      ->type_name("DIR")
      ->capture_default_str();
  command
      .add_option("--grace_seconds", flags.cluster.grace_seconds,
                  "Between asking processes to end and killing them")
      ->type_name("X")
      ->check(AboveZero())
      ->capture_default_str();
}

}  // namespace

void AddLaunchCommand(CLI::App& app, Action* action) {
  auto flags = std::make_shared<LaunchFlags>();
  CLI::App* command =
      app.add_subcommand("launch", "Starts servers and trainers of any program, and watches them");
  AddCounts(*command, *flags);
  AddHosts(*command, *flags);
  command->add_option("PROGRAM", flags->cluster.command, "The program and its arguments, behind --")
      ->type_name("");
  command->footer(kLaunchHelp);
  command->callback([flags, action] {
    action->check = [flags] { return CheckLaunch(flags.get()); };
    action->run = [flags](Terminal& terminal) { return Launch(*flags, terminal); };
  });
}

}  // namespace flotilla
