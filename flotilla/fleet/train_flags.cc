#include "flotilla/fleet/train_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "flotilla/fleet/flags.h"
#include "flotilla/fleet/open_data.h"

namespace flotilla {
namespace {

std::string FormatsHelp() {
  std::string names;
  for (const ParserFormat& format : ParserFormats()) {
    names += (names.empty() ? "" : ", ") + std::string(format.name);
  }
  return names;
}

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (const ParserFormat& format : ParserFormats()) names.emplace_back(format.name);
  return names;
}

// KEY=VALUE
CLI::Validator KeyValue() {
  auto check = [](std::string& text) -> std::string {
    const size_t equals = text.find('=');
    if (equals != std::string::npos && equals > 0) return {};
    return fmt::format("'{}' is not of the form KEY=VALUE", text);
  };
  return {check, ""};
}

void AddSourceFlags(CLI::App& command, TrainFlags& flags) {
  const std::string group = "Where rows come from";
  DataOptions& data = flags.options.data;
  command
      .add_option("--data", data.train,
                  "Training rows: files, directories, patterns, @LIST, - (standard input), "
                  "hdfs:..; plain, .gz or .zst")
      ->type_name("PATH")
      ->required()
      ->group(group);
  command.add_option("--test", data.test, "Test rows, likewise; scored after every epoch")
      ->type_name("PATH")
      ->group(group);
  command
      .add_option("--format", data.format.format,
                  "How rows are written: " + FormatsHelp() + " (default: the model's own)")
      ->type_name("NAME")
      ->check(OneOf(FormatNames()))
      ->group(group);
  command
      .add_option("--format_param", flags.format_params,
                  "A parameter of the format, e.g. hash_dim=1000001; `flotilla data check --help` "
                  "lists them")
      ->type_name("KEY=VALUE")
      ->check(KeyValue())
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--numeric", flags.numeric,
                  "Raw Criteo text: how the 13 numbers are scaled; short for --format_param "
                  "numeric=NAME")
      ->type_name("NAME")
      ->group(group);
  command
      .add_option("--pipe_command", data.pipe_command,
                  "A shell command that turns each file (its standard input) into the rows that "
                  "are parsed")
      ->type_name("CMD")
      ->group(group);
  command
      .add_option("--pipe_timeout", data.pipe_timeout_seconds,
                  "Seconds without output after which a command counts as hung")
      ->type_name("N")
      ->check(WholeNumber(1))
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--scheme", flags.schemes,
                  "The command that prints a remote file, e.g. s3='aws s3 cp - '; the path is "
                  "appended (default: hdfs='hadoop fs -cat')")
      ->type_name("NAME=CMD")
      ->check(KeyValue())
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->group(group);
}

void AddReadingFlags(CLI::App& command, TrainFlags& flags) {
  const std::string group = "How rows are read";
  DataOptions& data = flags.options.data;
  AddSwitch(command, "in_memory", &flags.in_memory,
            "Parse the files once and keep the rows in memory (default)",
            "Read the files again in every epoch and keep nothing", group);
  AddSwitch(command, "shuffle", &flags.shuffle,
            "Give the rows of each epoch in a random order (default, where rows are in memory)",
            "Give them in the order of the files", group);
  command
      .add_option("--shuffle_rows", data.shuffle_rows,
                  "With --no_in_memory: shuffle within windows of so many rows; 0: not")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str()
      ->group(group);
  command
      .add_flag("--drop_last", data.drop_last,
                "Leave out the last batch of an epoch when it is short")
      ->group(group);
  command
      .add_option("--cache", data.cache,
                  "Keep parsed rows in this directory and read them from there in later epochs and "
                  "runs")
      ->type_name("DIR")
      ->group(group);
  command
      .add_option("--readers", data.readers,
                  "Files read at the same time: more for pipe commands and compressed files")
      ->type_name("N")
      ->check(WholeNumber(1, kMaxThreads))
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--max_bad_rows", data.max_bad_rows,
                  "Skip and count up to so many rows that cannot be parsed; one more is an error")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str()
      ->group(group);
}

void AddRunFlags(CLI::App& command, TrainFlags& flags) {
  TrainOptions& options = flags.options;
  // A mode that does not exist yet is refused, never ignored.
  const CLI::Validator only_local(
      [](std::string& mode) {
        if (mode == "local") return std::string();
        return fmt::format("this version trains in one process; use --mode local, not {}", mode);
      },
      "");
  command.add_option("--mode", flags.mode, "Where the parameters live: local, in this process")
      ->type_name("MODE")
      ->check(only_local)
      ->capture_default_str();
  command.add_option("--batch_size", options.batch_size, "Rows of a batch")
      ->type_name("N")
      ->check(WholeNumber(1))
      ->capture_default_str();
  command.add_option("--epochs", options.epochs, "Passes over the training rows")
      ->type_name("N")
      ->check(WholeNumber(1))
      ->capture_default_str();
  command
      .add_option("--early_stop", options.early_stop,
                  "End after so many epochs without a better test AUC; 0: do not")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str();
  options.threads = Cores();
  command.add_option("--threads", options.threads, "Workers. Default: the number of cores")
      ->type_name("N")
      ->check(WholeNumber(1, kMaxThreads));
  command.add_option("--seed", options.seed, "Of all that is random")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str();
  command.add_flag("--deterministic", options.deterministic,
                   "The same bits for the same seed, whatever the number of threads; workers then "
                   "share each batch");
}

void AddKeepFlags(CLI::App& command, KeepOptions& keep) {
  const std::string group = "What is kept";
  command
      .add_option("--out", keep.out,
                  "Directory for the models: DIR/epoch_N, DIR/latest, DIR/best; curves and logs go "
                  "to DIR.log")
      ->type_name("DIR")
      ->group(group);
  command
      .add_option("--save_epochs", keep.every_epochs,
                  "Save after every so many epochs; 0: only at the end of the run")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str()
      ->group(group);
  command.add_option("--save_steps", keep.every_steps, "Save also every so many steps; 0: not")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str()
      ->group(group);
  command.add_option("--save_minutes", keep.every_minutes, "Save also every so many minutes")
      ->type_name("X")
      ->check(AboveZero())
      ->group(group);
  command.add_option("--keep", keep.keep, "Keep the newest so many models, and the best; 0: all")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str()
      ->group(group);
  command
      .add_flag("--resume", keep.resume,
                "Go on with the newest model in --out, with its position in the data; start anew "
                "when there is none")
      ->group(group);
  command
      .add_option("--init_model", keep.init_model,
                  "Start from the parameters and the optimizer's state of this model")
      ->type_name("DIR")
      ->group(group);
  command
      .add_flag("--fresh_optimizer", keep.fresh_optimizer,
                "With --init_model: take the weights only, and start the optimizer afresh")
      ->group(group);
  command
      .add_flag("--allow_missing", keep.allow_missing,
                "With --init_model: parameters that it does not have keep their first values")
      ->group(group);
}

void AddViewFlags(CLI::App& command, TrainFlags& flags) {
  const std::string group = "What is shown";
  ViewOptions& view = flags.options.view;
  command.add_flag("--json", view.json, "Print the results as one JSON object (see below)")
      ->group(group);
  command
      .add_option("--plot", view.plot, "Draw loss and AUC over the steps into this picture (.svg)")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--log_format", flags.log_format, "Of progress and messages: text or json")
      ->type_name("NAME")
      ->check(OneOf({"text", "json"}))
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--progress_seconds", view.progress_seconds,
                  "Between two progress lines, where standard error is not a terminal")
      ->type_name("X")
      ->check(AboveZero())
      ->capture_default_str()
      ->group(group);
}

// The two parts of KEY=VALUE.
std::pair<std::string, std::string> SplitPair(const std::string& text) {
  const size_t equals = text.find('=');
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

void AddTrainFlags(CLI::App& command, TrainFlags* flags) {
  AddRunFlags(command, *flags);
  AddSourceFlags(command, *flags);
  AddReadingFlags(command, *flags);
  AddKeepFlags(command, flags->options.keep);
  AddViewFlags(command, *flags);
}

Status AddModelFlags(CLI::App& command, std::span<const Config::Flag> model_flags,
                     TrainFlags* flags) {
  for (const Config::Flag& flag : model_flags) {
    const std::string name = "--" + flag.name;
    if (command.get_option_no_throw(name) != nullptr) {
      return InvalidArgument("the model reads {}, which is a flag of training: rename it", name);
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
    option->group("Model flags");
  }
  return absl::OkStatus();
}

Status SettleTrainFlags(const Model& model, TrainFlags* flags) {
  TrainOptions& options = flags->options;
  DataOptions& data = options.data;
  data.in_memory = flags->in_memory.value_or(true);
  if (flags->shuffle.value_or(false) && !data.in_memory) {
    return InvalidArgument(
        "--shuffle needs the rows in memory: leave out --no_in_memory, or shuffle a stream with "
        "--shuffle_rows");
  }
  data.shuffle = flags->shuffle.value_or(data.in_memory);
  if (data.shuffle_rows > 0 && data.in_memory) {
    return InvalidArgument("--shuffle_rows is for streams: add --no_in_memory, or leave it out");
  }
  if (!flags->numeric.empty()) data.format.params["numeric"] = flags->numeric;
  for (const std::string& pair : flags->format_params) data.format.params.insert(SplitPair(pair));
  for (const std::string& pair : flags->schemes) {
    const auto [scheme, command] = SplitPair(pair);
    data.schemes[scheme] = command;
  }
  options.view.log_json = flags->log_format == "json";
  const KeepOptions& keep = options.keep;
  if (keep.out.empty() && (keep.resume || keep.every_steps > 0 || keep.every_minutes > 0)) {
    return InvalidArgument("--resume, --save_steps and --save_minutes need --out DIR");
  }
  if (keep.resume && !keep.init_model.empty()) {
    return InvalidArgument("--resume and --init_model both say where to start: give one of them");
  }
  if (keep.init_model.empty() && (keep.fresh_optimizer || keep.allow_missing)) {
    return InvalidArgument("--fresh_optimizer and --allow_missing need --init_model DIR");
  }
  if (options.early_stop > 0 && data.test.empty()) {
    return InvalidArgument("--early_stop watches the test AUC: give --test PATH");
  }
  return MakeModelParser(model, data).status();
}

void SetView(const ViewOptions& options, ConsoleOptions* console) {
  if (options.log_json) console->format = ConsoleOptions::Format::kJson;
  console->line_seconds = options.progress_seconds;
}

}  // namespace flotilla
