#include "flotilla/fleet/run_flags.h"

#include <CLI/CLI.hpp>

#include "flotilla/base/memory_watch.h"
#include "flotilla/base/worker_pool.h"
#include "flotilla/communicator/mode.h"
#include "flotilla/fleet/flags.h"

namespace flotilla {
namespace {

// A job has more machines that can fail, and a lost one costs the work of all since the last save.
constexpr double kJobSaveMinutes = 10;
// What is left of the group's limit is for the save, and for what the group contains besides.
constexpr double kGroupShare = 0.95;

}  // namespace

void AddOutFlags(CLI::App& command, KeepOptions* keep) {
  command
      .add_option(
          "--out", keep->out,
          "Directory for the models: DIR/epoch_N, DIR/latest, DIR/best; curves and logs are "
          "written to DIR.log")
      ->type_name("DIR");
  CLI::Option* resume = command.add_flag(
      "--resume", keep->resume,
      "Continue training from the newest model in --out, at its position in the data; without one, "
      "start a new run");
  command
      .add_flag(
          "--overwrite", keep->overwrite,
          "Replace the models of another run in --out as soon as this run has saved its first")
      ->excludes(resume)
      ->option_text(" ");
  resume->option_text(" ");  // do not mention the exclusion in the help
}

void AddEpochFlags(CLI::App& command, const std::string& data, const std::string& deterministic,
                   RunOptions* options, RunFlags* flags) {
  AddOption(command, "--epochs", options->epochs, "Number of passes over the " + data, "N",
            WholeNumber(1));
  command
      .add_option("--threads", flags->threads,
                  "Worker threads per trainer (default: CPU_NUM, else the number of cores)")
      ->type_name("N")
      ->check(WholeNumber(1, kMaxThreads));
  command
      .add_option("--max_memory", flags->max_memory,
                  fmt::format("Memory of each process, for example 800M or 12G: a process that "
                              "passes it makes the run save and end with an error, before the "
                              "operating system kills it (0: no bound; default: {:g} of the limit "
                              "of the container or control group, if there is one)",
                              kGroupShare))
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))
      ->option_text("SIZE");
  AddOption(command, "--seed", options->seed, "Seed of all random choices", "N", WholeNumber(0));
  command.add_flag("--deterministic", options->deterministic, deterministic);
}

void AddSaveFlags(CLI::App& command, KeepOptions* keep) {
  const std::string group = kSaveGroup;
  AddOption(command, "--save_epochs", keep->every_epochs,
            "Save after every N epochs (0: only at the end of the run)", "N", WholeNumber(0))
      ->group(group);
  AddOption(command, "--save_steps", keep->every_steps, "Also save after every N steps (0: never)",
            "N", WholeNumber(0))
      ->group(group);
  command
      .add_option("--save_minutes", keep->every_minutes,
                  fmt::format("Also save after every X minutes (0: never; default: {:g} in a job "
                              "with servers, else 0)",
                              kJobSaveMinutes))
      ->type_name("X")
      ->check(AtLeastZero())
      ->group(group);
  AddOption(command, "--keep", keep->keep,
            "Number of recent models to keep, in addition to the best one (0: all)", "N",
            WholeNumber(0))
      ->group(group);
}

void AddJobFlags(CLI::App& command, const std::vector<std::string>& splits, RunOptions* options,
                 RunFlags* flags) {
  AddFleetFlags(command, splits, &options->fleet, &flags->fleet);
}

void AddViewFlags(CLI::App& command, RunOptions* options, RunFlags* flags) {
  ViewOptions& view = options->view;
  command.add_flag("--json", view.json, "Print the results as one JSON object (see below)");
  command
      .add_option("--plot", view.plot, "Plot loss and metrics over the steps to this file (.svg)")
      ->type_name("FILE")
      ->group(kViewGroup);
  AddOption(command, "--log_format", flags->log_format,
            "Format of progress and messages: text or json", "NAME", OneOf({"text", "json"}))
      ->group(kViewGroup);
  AddOption(command, "--progress_seconds", view.progress_seconds,
            "Seconds between two progress lines if standard error is not a terminal", "X",
            AboveZero())
      ->group(kViewGroup);
}

Status SettleRunFlags(const RunFlags& flags, RunOptions* options) {
  FL_RETURN_IF_ERROR(SettleFleetFlags(flags.fleet, options->deterministic, &options->fleet));
  options->threads = flags.threads.value_or(options->fleet.role.threads.value_or(Cores()));
  options->fleet.job.max_memory =
      flags.max_memory
          ? static_cast<int64_t>(*flags.max_memory)
          : static_cast<int64_t>(kGroupShare * static_cast<double>(GroupMemoryLimit()));
  options->view.log_json = flags.log_format == "json";
  KeepOptions& keep = options->keep;
  // As completed by a shell; the name of the logs begins with it.
  while (keep.out.size() > 1 && keep.out.back() == '/') keep.out.pop_back();
  FL_RETURN_IF_ERROR(CheckRunOptions(*options));
  if (!keep.every_minutes && !keep.out.empty() &&
      GetMode(options->fleet.job.mode.mode).has_servers) {
    keep.every_minutes = kJobSaveMinutes;
  }
  return absl::OkStatus();
}

void SetView(const ViewOptions& options, ConsoleOptions* console) {
  if (options.log_json) console->format = ConsoleOptions::Format::kJson;
  console->line_seconds = options.progress_seconds;
}

}  // namespace flotilla
