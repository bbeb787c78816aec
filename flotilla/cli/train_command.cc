#include "flotilla/cli/train_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>

#include "flotilla/cli/flags.h"
#include "flotilla/cli/train_report.h"
#include "flotilla/cli/train_run.h"
#include "flotilla/models/ctr_dnn.h"

namespace flotilla {
namespace {

struct TrainFlags {
  TrainOptions options;
  std::string mode = "local";
  std::string numeric = "seeds";
  std::optional<bool> in_memory;  // default true
  std::optional<bool> shuffle;    // default: where the rows are in memory
  bool json = false;
};

constexpr char kExample[] = R"(

Example: flotilla train ctr_dnn --data train/ --test test/ --epochs 2)";

void AddDataFlags(CLI::App& command, TrainFlags& flags) {
  TrainOptions& options = flags.options;
  command
      .add_option("--data", options.data,
                  "Training rows in raw Criteo text, plain or .zst: files, or directories whose "
                  "files are taken in the order of their names")
      ->type_name("PATH")
      ->required();
  command.add_option("--test", options.test, "Test rows, likewise; scored after every epoch")
      ->type_name("PATH");
  AddSwitch(command, "in_memory", &flags.in_memory,
            "Parse the files once and keep the rows in memory (default)",
            "Read the files again in every epoch and keep nothing");
  AddSwitch(command, "shuffle", &flags.shuffle,
            "Give the rows of each epoch in a random order (default, where rows are in memory)",
            "Give them in the order of the files");
  command
      .add_option("--max_bad_rows", options.max_bad_rows,
                  "Skip and count up to so many rows that cannot be parsed; one more is an error")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str();
  command
      .add_option("--numeric", flags.numeric,
                  "How the 13 numbers are scaled: seeds, (x - min) / range with fixed figures, or "
                  "log, log(1 + x)")
      ->type_name("NAME")
      ->check(OneOf({"seeds", "log"}))
      ->capture_default_str();
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
  command.add_flag("--json", flags.json, "Print the results as one JSON object (see below)");
}

void AddModelFlags(CLI::App& command, ModelFlags& flags) {
  const std::string group = "Model flags (what is left out is the recipe's)";
  const CtrDnnOptions recipe;
  command
      .add_option("--recipe", flags.recipe,
                  "default, what was measured best; or seeds, the original's exact numbers")
      ->type_name("NAME")
      ->capture_default_str()
      ->group(group);
  command
      .add_option("--dim", flags.dim,
                  fmt::format("Numbers per row of the table (recipe: {})", recipe.dim))
      ->type_name("N")
      ->check(WholeNumber(1))
      ->group(group);
  command
      .add_option("--layers", flags.layers,
                  fmt::format("Sizes of the hidden layers, separated by commas (recipe: {})",
                              fmt::join(recipe.layers, ",")))
      ->type_name("N")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(WholeNumber(1))
      ->group(group);
  command
      .add_option("--sparse_feature_dim", flags.sparse_feature_dim,
                  fmt::format("Categories are hashed to so many ids; 0: the table grows with every "
                              "new category (recipe: {})",
                              recipe.sparse_feature_dim))
      ->type_name("N")
      ->check(WholeNumber(0))
      ->group(group);
  command
      .add_option(
          "--optimizer", flags.optimizer,
          fmt::format("sgd, momentum, adagrad, decayed_adagrad, adam, adamax, adamw, rmsprop "
                      "or ftrl (recipe: {})",
                      recipe.optimizer))
      ->type_name("NAME")
      ->group(group);
  command
      .add_option("--learning_rate", flags.learning_rate,
                  fmt::format("Of the optimizer, constant (recipe: {}; lr: {})",
                              recipe.learning_rate, kLinearRate))
      ->type_name("X")
      ->check(AboveZero())
      ->group(group);
}

// Checks what needs several flags at once and settles defaults.
Status CheckTrain(TrainFlags* flags) {
  TrainOptions& options = flags->options;
  FL_RETURN_IF_ERROR(MakeBuiltinModel(options.model, options.model_flags).status());
  options.in_memory = flags->in_memory.value_or(true);
  if (flags->shuffle.value_or(false) && !options.in_memory) {
    return InvalidArgument("--shuffle needs the rows in memory: leave out --no_in_memory");
  }
  options.shuffle = flags->shuffle.value_or(options.in_memory);
  options.numeric =
      flags->numeric == "log" ? CriteoOptions::Numeric::kLog : CriteoOptions::Numeric::kSeeds;
  return absl::OkStatus();
}

Status Train(const TrainFlags& flags, Terminal& terminal) {
  FL_ASSIGN_OR_RETURN(const TrainResult result, RunTraining(flags.options, terminal));
  terminal.out << (flags.json ? ResultJson(flags.options, result) : ResultTable(result));
  return absl::OkStatus();
}

}  // namespace

void AddTrainCommand(CLI::App& app, Action* action) {
  auto flags = std::make_shared<TrainFlags>();
  flags->options.threads = Cores();
  CLI::App* command = app.add_subcommand("train", "Trains a model and tells its quality");
  command
      ->add_option(
          "MODEL", flags->options.model,
          "ctr_dnn, the click model of the seeds, or lr, a logistic regression on the same "
          "inputs")
      ->type_name("")
      ->required();
  AddDataFlags(*command, *flags);
  AddRunFlags(*command, *flags);
  AddModelFlags(*command, flags->options.model_flags);
  command->footer(std::string(kTrainJsonHelp) + kExample);
  command->callback([flags, action] {
    action->check = [flags] { return CheckTrain(flags.get()); };
    action->run = [flags](Terminal& terminal) { return Train(*flags, terminal); };
  });
}

}  // namespace flotilla
