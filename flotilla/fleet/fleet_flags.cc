#include "flotilla/fleet/fleet_flags.h"

#include <CLI/CLI.hpp>
#include <map>

#include "flotilla/fleet/flags.h"
#include "flotilla/launch/job_environment.h"

namespace flotilla {
namespace {

// The help text of each way to split the data.
std::string SplitHelp(const std::vector<std::string>& splits) {
  const std::map<std::string, std::string> meanings = {
      {"by_size",
       "every trainer reads its share of the bytes of all files (by_file if a file is compressed "
       "or "
       "remote, or rows come from a cache or pipe command)"},
      {"by_file", "every trainer reads its share of the files"},
      {"by_block", "every trainer reads all text and trains on every T-th block (T trainers)"},
      {"none", "every trainer reads all files it is given"}};
  std::string help;
  for (const std::string& split : splits) {
    help += (help.empty() ? "" : "; ") + split + ": " + meanings.at(split);
  }
  return help;
}

void AddJobFlags(CLI::App& command, const std::vector<std::string>& splits, FleetOptions& fleet,
                 FleetFlags& flags) {
  const std::string group = "Servers and trainers";
  command
      .add_option(
          "--mode", flags.mode,
          fmt::format(
              "Training mode: {} (parameters in this process) or, with parameters on servers, "
              "one of {} (default: {}; {} in a job with servers)",
              kLocalMode, fmt::join(ModeNames(&Mode::has_servers), ", "), kLocalMode, kJobMode))
      ->type_name("MODE")
      ->check(OneOf(ModeNames()))
      ->group(group);
  command
      .add_option("--server_num", fleet.server_num, "Number of servers to start on this machine")
      ->type_name("N")
      ->check(WholeNumber(1, 512))
      ->group(group);
  command
      .add_option("--worker_num", fleet.worker_num, "Number of trainers to start on this machine")
      ->type_name("N")
      ->check(WholeNumber(1, 512))
      ->group(group);
  const CLI::Option* start_port =
      AddOption(command, "--start_port", fleet.start_port,
                "First port of the servers to start (0: any free ports)", "N",
                WholeNumber(0, 65535))
          ->group(group);
  const CLI::Option* log_dir =
      command
          .add_option("--log_dir", fleet.log_dir,
                      "Directory for the logs of started processes: serverlog.N, workerlog.N")
          ->type_name("DIR")
          ->capture_default_str()
          ->group(group);
  const CLI::Option* max_restarts =
      AddOption(command, "--max_restarts", fleet.max_restarts,
                "Restart all processes from the last save when one is lost, at most N times since "
                "that save (0: end the job)",
                "N", WholeNumber(0, 1'000'000))
          ->group(group);
  flags.data_split = splits.front();
  const CLI::Option* data_split =
      AddOption(command, "--data_split", flags.data_split, SplitHelp(splits), "NAME", OneOf(splits))
          ->group(group);
  const CLI::Option* start_timeout =
      AddOption(command, "--start_timeout", fleet.start_timeout_seconds,
                "Seconds that trainers wait for the servers, and servers for the trainers", "N",
                WholeNumber(1, 1'000'000))
          ->group(group);
  flags.of_servers = {{start_port, "no servers are started"},
                      {log_dir, "no processes are started"},
                      {max_restarts, "no processes are started"},
                      {data_split, "one process reads all files"},
                      {start_timeout, "there are no other processes to wait for"}};
  flags.of_launcher = {start_port, log_dir, max_restarts};
  AddRoleFlags(command, group, &flags.role);
  AddSwitch(command, "shared_memory", &flags.shared_memory,
            "Exchange tensors between processes of one machine through shared memory (default)",
            "Send everything through sockets, even between processes of one machine", group);
}

// The start of the help text of a flag that only modes with the trait read: "async: ".
std::string ForModes(bool Mode::*trait) {
  return fmt::format("{}: ", fmt::join(ModeNames(trait), ", "));
}

void AddModeFlags(CLI::App& command, FleetOptions& fleet, FleetFlags& flags) {
  const std::string group = "Options of the modes";
  const CLI::Option* max_staleness =
      AddOption(command, "--max_staleness", fleet.job.mode.async.max_staleness,
                ForModes(&Mode::queues) +
                    "maximum number of the worker's own earlier steps that the rows of a "
                    "batch may lack (-1: chosen so that all trainers together have 16 steps in "
                    "flight)",
                "N", WholeNumber(-1))
          ->group(group);
  command
      .add_flag("--half_dense", fleet.job.half_dense,
                ForModes(&Mode::sends_gradients) +
                    "send dense gradients and values as bfloat16, which halves the "
                    "bytes; servers store them in full precision")
      ->group(group);
  const CLI::Option* geo_push_nums =
      AddOption(command, "--geo_push_nums", fleet.job.mode.geo.interval.push_nums,
                ForModes(&Mode::exchanges) +
                    "batches between two exchanges; PaddlePaddle's tutorials use 400 (0: "
                    "chosen automatically from the measured cost of an exchange)",
                "N", WholeNumber(0))
          ->group(group);
  const CLI::Option* geo_divisor =
      AddOption(command, "--geo_divisor", flags.geo_divisor,
                ForModes(&Mode::exchanges) +
                    "divisor of the differences that trainers send: touched (dense: the "
                    "number of trainers that have data; a row: the square root of the number of "
                    "trainers that changed it), trainers (their number, as in PaddlePaddle's "
                    "tutorials) or none",
                "NAME", OneOf({"touched", "trainers", "none"}))
          ->group(group);
  flags.of_modes = {{max_staleness, &Mode::queues},
                    {geo_push_nums, &Mode::exchanges},
                    {geo_divisor, &Mode::exchanges}};
}

void AddStorageFlag(CLI::App& command, FleetFlags& flags) {
  const CLI::Option* save_via =
      AddOption(
          command, "--save_via", flags.save_via,
          "Which processes write and read models: servers (each its own rows, in parallel, on "
          "storage that all of them share) or trainer (trainer 0 for all)",
          "NAME", OneOf({"servers", "trainer"}))
          ->group("Saving and loading models");
  flags.of_servers.emplace_back(save_via, "this process writes and reads its models itself");
}

// Rejects flags that have no effect in the mode.
Status CheckFlagsOfModes(const FleetFlags& flags, const Mode& mode) {
  for (const auto& [option, trait] : flags.of_modes) {
    if (!(mode.*trait) && Changed(*option)) {
      return InvalidArgument("{} is for --mode {}, not for {}: leave it out", option->get_name(),
                             fmt::join(ModeNames(trait), " or "), mode.name);
    }
  }
  for (const auto& [option, why] : flags.of_servers) {
    if (!mode.has_servers && Changed(*option)) {
      return InvalidArgument("{} is for modes with servers, not for {}, where {}: leave it out",
                             option->get_name(), mode.name, why);
    }
  }
  return absl::OkStatus();
}

Status CheckModeAndRole(const Mode& mode, const FleetOptions& fleet) {
  const bool in_job = fleet.role.kind != Role::Kind::kLocal;
  const bool starts_job = !in_job && (fleet.server_num > 0 || fleet.worker_num > 0);
  if (in_job && !mode.has_servers) {
    return InvalidArgument("this process is a {} of a job, and --mode is local: leave one out",
                           fleet.role.is_server() ? "server" : "trainer");
  }
  if (mode.has_servers && !in_job && (fleet.server_num == 0 || fleet.worker_num == 0)) {
    return InvalidArgument(
        "--mode {} needs servers: --server_num S --worker_num W starts them here; on a cluster the "
        "environment or --role gives each process its role (flotilla launch --help)",
        mode.name);
  }
  if (starts_job && !mode.has_servers) {
    return InvalidArgument("--server_num and --worker_num are for modes with servers, not local");
  }
  return absl::OkStatus();
}

}  // namespace

void AddFleetFlags(CLI::App& command, const std::vector<std::string>& splits, FleetOptions* options,
                   FleetFlags* flags) {
  AddJobFlags(command, splits, *options, *flags);
  AddModeFlags(command, *options, *flags);
  AddStorageFlag(command, *flags);
}

Status SettleFleetFlags(const FleetFlags& flags, bool deterministic, FleetOptions* options) {
  FleetOptions& fleet = *options;
  FL_ASSIGN_OR_RETURN(const JobEnvironment found,
                      JobFromEnvironment(ProcessEnvironment(), {.mode = fleet.job.mode}));
  FL_ASSIGN_OR_RETURN(fleet.role, ChooseRole(flags.role, found.role));
  fleet.job.flags = found.flags;
  fleet.job.mode = found.mode;
  fleet.job.job_id = found.job_id;
  fleet.job.turns = found.turns;
  fleet.status_file = found.status_file;
  fleet.result_file = found.result_file;
  const bool in_job = fleet.role.kind != Role::Kind::kLocal;
  if (flags.role.role && (fleet.server_num > 0 || fleet.worker_num > 0)) {
    return InvalidArgument(
        "--role {}: --server_num and --worker_num are for the process that starts a job; leave "
        "them out",
        *flags.role.role);
  }
  for (const CLI::Option* option : flags.of_launcher) {
    if (flags.role.role && Changed(*option)) {
      return InvalidArgument("--role {}: {} is for the process that starts a job; leave it out",
                             *flags.role.role, option->get_name());
    }
  }
  const bool starts_job = fleet.server_num > 0 || fleet.worker_num > 0;
  fleet.job.mode.mode = flags.mode.value_or(in_job || starts_job ? kJobMode : kLocalMode);
  const Mode& mode = GetMode(fleet.job.mode.mode);
  FL_RETURN_IF_ERROR(CheckModeAndRole(mode, fleet));
  fleet.job.mode.local.joined = deterministic;
  fleet.job.mode.geo.divisor = flags.geo_divisor == "touched"    ? GeoDivisor::kTouched
                               : flags.geo_divisor == "trainers" ? GeoDivisor::kTrainers
                                                                 : GeoDivisor::kNone;
  fleet.job.start_timeout_ms = fleet.start_timeout_seconds * 1000;
  fleet.job.shared_storage = flags.save_via == "servers";
  fleet.slice_files = flags.data_split == "by_size";
  fleet.split_files = fleet.slice_files || flags.data_split == "by_file";
  FL_RETURN_IF_ERROR(CheckFlagsOfModes(flags, mode));
  if (fleet.job.half_dense && !mode.sends_gradients) {
    return InvalidArgument(
        "--half_dense: mode {} sends no dense gradients; leave it out, or choose one of {}",
        mode.name, fmt::join(ModeNames(&Mode::sends_gradients), ", "));
  }
  fleet.job.shared_memory = flags.shared_memory.value_or(true);
  if (!fleet.job.shared_memory && !mode.has_servers) {
    return InvalidArgument("--no_shared_memory: mode {} has no servers; leave it out", mode.name);
  }
  if (mode.has_servers && deterministic && !mode.repeats) {
    return InvalidArgument(
        "--deterministic: among the modes with servers only {} is bit-reproducible",
        fmt::join(ModeNames(&Mode::repeats), ", "));
  }
  return absl::OkStatus();
}

}  // namespace flotilla
