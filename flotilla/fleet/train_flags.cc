#include "flotilla/fleet/train_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "flotilla/fleet/command_line.h"
#include "flotilla/fleet/flags.h"
#include "flotilla/run/open_data.h"
#include "flotilla/run/row_task.h"

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
  AddOption(command, "--shuffle_rows", data.shuffle_rows,
            "With --no_in_memory: shuffle within windows of N rows (0: do not shuffle)", "N",
            WholeNumber(0))
      ->group(group);
  command
      .add_flag("--drop_last", data.drop_last,
                "Leave out the last batch of an epoch if it has fewer than --batch_size rows")
      ->group(group);
  AddOption(
      command, "--shares", data.shares,
      "Divide the training files into N parts per trainer, which fast trainers take from slow "
      "ones, so that an epoch does not wait for the slowest (0: chosen by their size, 1: each "
      "trainer has its own; not in sync, whose rounds have a batch of every trainer)",
      "N", WholeNumber(0, 10'000))
      ->group(group);
  AddReaderFlags(command, &data);
}

// --shares as far as it was given: where trainers cannot take parts from each other.
Status CheckShares(const TrainOptions& options) {
  const DataOptions& data = options.data;
  if (data.shares <= 1) return absl::OkStatus();
  const Mode& mode = GetMode(options.fleet.job.mode.mode);
  const char* const reason =
      !mode.has_servers            ? "one process reads all files"
      : mode.counts_rounds         ? "every round of mode sync has a batch of every trainer"
      : !options.fleet.split_files ? "--data_split none makes each trainer read all of its files"
      : data.global_shuffle        ? "--global_shuffle gives each trainer its rows"
      : data.drop_last             ? "--drop_last would leave out the end of every part"
                                   : nullptr;
  if (reason == nullptr) return absl::OkStatus();
  return InvalidArgument("--shares {}: {}; leave it out", data.shares, reason);
}

void AddTrainingFlags(CLI::App& command, TrainFlags& flags) {
  TrainOptions& options = flags.options;
  AddOption(command, "--batch_size", options.batch_size, "Rows per batch", "N", WholeNumber(1));
  AddOption(command, "--max_bad_batches", options.max_bad_batches,
            "Leave out and count up to N batches per epoch and trainer whose loss or gradients are "
            "NaN or infinite; one more ends the run with its cause",
            "N", WholeNumber(0));
  AddOption(command, "--early_stop", options.early_stop,
            "Stop after N epochs without a better test value of the watched metric (0: never)", "N",
            WholeNumber(0));
  AddOption(
      command, "--plateau", options.plateau,
      "Divide the learning rate by 10 after every N epochs without a better test value of the "
      "watched metric (0: never); modes local and geo",
      "N", WholeNumber(0));
  command
      .add_option("--watch", options.watch,
                  "The metric whose test value decides which model is the best (default: chosen by "
                  "the model, auc for the built-in models)")
      ->type_name("METRIC");
}

void AddInitFlags(CLI::App& command, KeepOptions& keep) {
  const std::string group = kSaveGroup;
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

// The flags that are about the test value of the watched metric.
Status CheckWatchFlags(const TrainOptions& options) {
  const char* const flag = options.early_stop > 0   ? "--early_stop"
                           : options.plateau > 0    ? "--plateau"
                           : !options.watch.empty() ? "--watch"
                                                    : nullptr;
  if (flag == nullptr) return absl::OkStatus();
  if (options.data.test.empty()) {
    return InvalidArgument("{} needs test rows: give --test PATH", flag);
  }
  const std::string& mode = options.fleet.job.mode.mode;
  if (options.plateau > 0 && GetMode(mode).sends_gradients) {
    return InvalidArgument(
        "--plateau needs trainers that run the optimizer, and in mode {} the servers do: use mode "
        "local or geo",
        mode);
  }
  return absl::OkStatus();
}

}  // namespace

void AddTrainFlags(CLI::App& command, TrainFlags* flags) {
  AddSourceFlags(command, *flags);
  AddOutFlags(command, &flags->options.keep);
  AddEpochFlags(command, "training rows",
                "Bit-reproducible training: in one process the same seed gives the same bits with "
                "any number of threads, because workers then share each batch. Among the server "
                "modes only sync is bit-reproducible, with or without this flag",
                &flags->options, &flags->run);
  AddTrainingFlags(command, *flags);
  AddHelpAll(command);
  AddFormatFlags(command, &flags->options.data, &flags->data);
  AddIgnoreFormatFlag(command, &flags->options.data);
  AddReadingFlags(command, *flags);
  AddSaveFlags(command, &flags->options.keep);
  AddInitFlags(command, flags->options.keep);
  AddJobFlags(command, {"by_size", "by_file", "none"}, &flags->options, &flags->run);
  AddViewFlags(command, &flags->options, &flags->run);
}

void AddSchemaFlags(CLI::App& command, TrainFlags* flags) {
  DataOptions& data = flags->options.data;
  command
      .add_option("--schema", data.schema,
                  "What the columns mean: a file (`flotilla data schema` writes one), or the name "
                  "of a built-in schema: criteo (default: inferred from the rows)")
      ->type_name("FILE");
  command
      .add_option(
          "--label", data.label,
          "Column of the label (default: the schema's; without a schema, the one whose name "
          "says so, else the last or the first with two values)")
      ->type_name("COLUMN");
  command
      .add_option("--task", flags->task,
                  "What to predict: click, the probability of one of two values; regression, a "
                  "number; classes (default: the values of the label decide)")
      ->type_name("NAME")
      ->check(OneOf({"click", "regression", "classes"}));
  command
      .add_option("--rows", data.rows,
                  "What the rows are, as found out by the process that started the job "
                  "(LOG_DIR/rows.json), instead of looking at the files")
      ->type_name("FILE")
      ->group("Data sources and formats");
}

Status AddModelFlags(CLI::App& command, std::span<const Config::Flag> model_flags,
                     TrainFlags* flags) {
  for (const Config::Flag& flag : model_flags) {
    const std::string name = "--" + flag.name;
    if (command.get_option_no_throw(name) != nullptr) {
      return InvalidArgument("the model reads {}, which is already a flag of training: rename it",
                             name);
    }
    // A value that is called default needs no "(default default)".
    const bool unnamed = flag.otherwise.empty() || flag.otherwise == "default";
    const std::string help =
        flag.help + (unnamed ? "" : fmt::format(" (default {})", flag.otherwise));
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

Status SettleTrainFlags(TrainFlags* flags) {
  TrainOptions& options = flags->options;
  FL_RETURN_IF_ERROR(SettleRunFlags(flags->run, &options));
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
  FL_RETURN_IF_ERROR(CheckShares(options));
  data.shuffle = flags->shuffle.value_or(data.in_memory);
  if (data.shuffle_rows > 0 && data.in_memory) {
    return InvalidArgument(
        "--shuffle_rows is for rows that are not in memory: add --no_in_memory, or leave it out");
  }
  SettleDataFlags(flags->data, &data);
  const KeepOptions& keep = options.keep;
  if (keep.init_model.empty() && (keep.fresh_optimizer || keep.allow_missing)) {
    return InvalidArgument("--fresh_optimizer and --allow_missing need --init_model DIR");
  }
  if (data.ignore_format && keep.init_model.empty() && !keep.resume) {
    return InvalidArgument("--ignore_format needs --init_model DIR or --resume");
  }
  if (!flags->task.empty()) {
    for (const LabelTask task : {LabelTask::kClick, LabelTask::kRegression, LabelTask::kClasses}) {
      if (NameOf(task) == flags->task) data.task = task;
    }
  }
  return CheckWatchFlags(options);
}

Status CheckModelFlags(const Model& model, const TrainOptions& options) {
  FL_RETURN_IF_ERROR(CheckWatch(model, options));
  return MakeModelParser(model, options.data).status();
}

}  // namespace flotilla
