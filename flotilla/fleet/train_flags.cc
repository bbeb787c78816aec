#include "flotilla/fleet/train_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "flotilla/fleet/command_line.h"
#include "flotilla/fleet/flags.h"
#include "flotilla/fleet/fleet_flags.h"
#include "flotilla/fleet/open_data.h"

namespace flotilla {
namespace {

void AddSourceFlags(CLI::App& command, TrainFlags& flags) {
  DataOptions& data = flags.options.data;
  command.add_option("--data", data.train, std::string("Training rows: ") + kPathsHelp)
      ->type_name("PATH")
      ->required();
  command.add_option("--test", data.test, "Test rows, in the same form; scored after every epoch")
      ->type_name("PATH");
}

// The directory of the models; AddKeepFlags has the other flags for saving.
void AddOutFlags(CLI::App& command, KeepOptions& keep) {
  command
      .add_option(
          "--out", keep.out,
          "Directory for the models: DIR/epoch_N, DIR/latest, DIR/best; curves and logs are "
          "written to DIR.log")
      ->type_name("DIR");
  CLI::Option* resume = command.add_flag(
      "--resume", keep.resume,
      "Continue training from the newest model in --out, at its position in the data; without one, "
      "start a new run");
  command
      .add_flag(
          "--overwrite", keep.overwrite,
          "Replace the models of another run in --out as soon as this run has saved its first")
      ->excludes(resume)
      ->option_text(" ");
  resume->option_text(" ");  // do not mention the exclusion in the help
}

void AddReadingFlags(CLI::App& command, TrainFlags& flags) {
  const std::string group = "Reading rows";
  DataOptions& data = flags.options.data;
  AddSwitch(command, "in_memory", &flags.in_memory,
            "Parse the files once and keep the rows in memory (default)",
            "Read the files again in every epoch and keep nothing", group);
  AddSwitch(command, "shuffle", &flags.shuffle,
            "Shuffle the rows in every epoch (default if rows are in memory)",
            "Train on the rows in the order of the files", group);
  command
      .add_flag(
          "--global_shuffle", data.global_shuffle,
          "Before the first epoch, redistribute the rows of all trainers at random among them; for "
          "files that differ in content or size")
      ->group(group);
  command
      .add_option("--shuffle_rows", data.shuffle_rows,
                  "With --no_in_memory: shuffle within windows of N rows (0: do not shuffle)")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str()
      ->group(group);
  command
      .add_flag("--drop_last", data.drop_last,
                "Leave out the last batch of an epoch if it has fewer than --batch_size rows")
      ->group(group);
  AddReaderFlags(command, &data);
}

void AddRunFlags(CLI::App& command, TrainFlags& flags) {
  TrainOptions& options = flags.options;
  command.add_option("--epochs", options.epochs, "Number of passes over the training rows")
      ->type_name("N")
      ->check(WholeNumber(1))
      ->capture_default_str();
  command.add_option("--batch_size", options.batch_size, "Rows per batch")
      ->type_name("N")
      ->check(WholeNumber(1))
      ->capture_default_str();
  command
      .add_option("--early_stop", options.early_stop,
                  "Stop after N epochs without a better test AUC (0: never)")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str();
  command
      .add_option("--threads", flags.threads,
                  "Worker threads per trainer (default: CPU_NUM, else the number of cores)")
      ->type_name("N")
      ->check(WholeNumber(1, kMaxThreads));
  command.add_option("--seed", options.seed, "Seed of all random choices")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str();
  command.add_flag(
      "--deterministic", options.deterministic,
      "Bit-reproducible training: in one process the same seed gives the same bits with any number "
      "of threads, because workers then share each batch. Among the server modes only sync is "
      "bit-reproducible, with or without this flag");
}

void AddKeepFlags(CLI::App& command, KeepOptions& keep) {
  const std::string group = "Saving and loading models";
  command
      .add_option("--save_epochs", keep.every_epochs,
                  "Save after every N epochs (0: only at the end of the run)")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str()
      ->group(group);
  command.add_option("--save_steps", keep.every_steps, "Also save after every N steps (0: never)")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str()
      ->group(group);
  command.add_option("--save_minutes", keep.every_minutes, "Also save after every X minutes")
      ->type_name("X")
      ->check(AboveZero())
      ->group(group);
  command
      .add_option("--keep", keep.keep,
                  "Number of recent models to keep, in addition to the best one (0: all)")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--init_model", keep.init_model,
                  "Start from the parameters and the optimizer's state of this model, unless "
                  "--resume finds one in --out")
      ->type_name("DIR")
      ->group(group);
  command
      .add_flag("--fresh_optimizer", keep.fresh_optimizer,
                "With --init_model: load only the weights and reset the state of the optimizer")
      ->group(group);
  command
      .add_flag("--allow_missing", keep.allow_missing,
                "With --init_model: parameters that are missing there keep their initial values")
      ->group(group);
}

void AddViewFlags(CLI::App& command, TrainFlags& flags) {
  const std::string group = "Output and progress";
  ViewOptions& view = flags.options.view;
  command.add_flag("--json", view.json, "Print the results as one JSON object (see below)");
  command.add_option("--plot", view.plot, "Plot loss and AUC over the steps to this file (.svg)")
      ->type_name("FILE")
      ->group(group);
  AddProgressFlags(command, group, &flags.log_format, &view);
}

}  // namespace

void AddProgressFlags(CLI::App& command, const std::string& group, std::string* log_format,
                      ViewOptions* view) {
  command.add_option("--log_format", *log_format, "Format of progress and messages: text or json")
      ->type_name("NAME")
      ->check(OneOf({"text", "json"}))
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--progress_seconds", view->progress_seconds,
                  "Seconds between two progress lines if standard error is not a terminal")
      ->type_name("X")
      ->check(AboveZero())
      ->capture_default_str()
      ->group(group);
}

void AddTrainFlags(CLI::App& command, TrainFlags* flags) {
  AddSourceFlags(command, *flags);
  AddOutFlags(command, flags->options.keep);
  AddRunFlags(command, *flags);
  AddHelpAll(command);
  AddFormatFlags(command, &flags->options.data, &flags->data);
  AddIgnoreFormatFlag(command, &flags->options.data);
  AddReadingFlags(command, *flags);
  AddKeepFlags(command, flags->options.keep);
  AddFleetFlags(command, {"by_file", "none"}, &flags->options.fleet, &flags->fleet);
  AddViewFlags(command, *flags);
}

Status AddModelFlags(CLI::App& command, std::span<const Config::Flag> model_flags,
                     TrainFlags* flags) {
  for (const Config::Flag& flag : model_flags) {
    const std::string name = "--" + flag.name;
    if (command.get_option_no_throw(name) != nullptr) {
      return InvalidArgument("the model reads {}, which is already a flag of training: rename it",
                             name);
    }
    const std::string help =
        flag.help + (flag.otherwise.empty() ? "" : fmt::format(" (default {})", flag.otherwise));
    const auto set = [flags, key = flag.name](const std::string& value) {
      flags->model_values[key] = value;
    };
    CLI::Option* option =
        flag.is_switch ? command.add_flag_function(
                             name + ",!--no_" + flag.name,
                             [set](int64_t count) { set(count > 0 ? "true" : "false"); }, help)
                       : command.add_option_function<std::string>(name, set, help);
    if (!flag.is_switch) option->type_name("VALUE");
    option->group(kModelFlags);
  }
  return absl::OkStatus();
}

Status SettleTrainFlags(const Model& model, TrainFlags* flags) {
  TrainOptions& options = flags->options;
  FL_RETURN_IF_ERROR(SettleFleetFlags(flags->fleet, options.deterministic, &options.fleet));
  options.threads = flags->threads.value_or(options.fleet.role.threads.value_or(Cores()));
  DataOptions& data = options.data;
  data.in_memory = flags->in_memory.value_or(true);
  if (flags->shuffle.value_or(false) && !data.in_memory) {
    return InvalidArgument(
        "--shuffle needs the rows in memory: leave out --no_in_memory, or use --shuffle_rows");
  }
  if (data.global_shuffle && !GetMode(options.fleet.job.mode.mode).has_servers) {
    return InvalidArgument(
        "--global_shuffle spreads rows over the trainers of a job; in mode local --shuffle mixes "
        "all rows: leave it out");
  }
  if (data.global_shuffle && !data.in_memory) {
    return InvalidArgument("--global_shuffle needs the rows in memory: leave out --no_in_memory");
  }
  data.shuffle = flags->shuffle.value_or(data.in_memory);
  if (data.shuffle_rows > 0 && data.in_memory) {
    return InvalidArgument(
        "--shuffle_rows is for rows that are not in memory: add --no_in_memory, or leave it out");
  }
  SettleDataFlags(flags->data, &data);
  options.view.log_json = flags->log_format == "json";
  const KeepOptions& keep = options.keep;
  if (GetMode(options.fleet.job.mode.mode).has_servers &&
      (keep.every_steps > 0 || keep.every_minutes > 0)) {
    return InvalidArgument(
        "--save_steps and --save_minutes are for --mode local: with servers, models are saved only "
        "after epochs");
  }
  if (keep.out.empty() &&
      (keep.resume || keep.overwrite || keep.every_steps > 0 || keep.every_minutes > 0)) {
    return InvalidArgument("--resume, --overwrite, --save_steps and --save_minutes need --out DIR");
  }
  if (keep.init_model.empty() && (keep.fresh_optimizer || keep.allow_missing)) {
    return InvalidArgument("--fresh_optimizer and --allow_missing need --init_model DIR");
  }
  if (data.ignore_format && keep.init_model.empty() && !keep.resume) {
    return InvalidArgument("--ignore_format needs --init_model DIR or --resume");
  }
  if (options.early_stop > 0 && data.test.empty()) {
    return InvalidArgument("--early_stop needs a test AUC: give --test PATH");
  }
  return MakeModelParser(model, data).status();
}

void SetView(const ViewOptions& options, ConsoleOptions* console) {
  if (options.log_json) console->format = ConsoleOptions::Format::kJson;
  console->line_seconds = options.progress_seconds;
}

}  // namespace flotilla
