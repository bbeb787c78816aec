// `flotilla train auto`: trains without the choice of a model, or several models for a comparison.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flotilla/base/nearest_name.h"
#include "flotilla/base/parse_number.h"
#include "flotilla/cli/commands.h"
#include "flotilla/fleet/command_line.h"
#include "flotilla/fleet/train_flags.h"
#include "flotilla/models/zoo.h"
#include "flotilla/run/auto_train.h"
#include "flotilla/run/train_report.h"

namespace flotilla {
namespace {

constexpr char kFooter[] = R"(
  race                         with the race: rows, held_back, last (whether they are the last rows),
                               models (model, value, epochs, seconds of each), mean (of the two best,
                               against the best alone: value, difference, standard_error, p_value)
  chosen                       the model that was trained, or the two whose mean was (model, epochs)
With --models: models, an object like the above for each, and differences, the paired differences
on the test rows: models, metric, difference, standard_error, p_value.

Examples: flotilla train auto --data clicks.csv --test new.csv --out model
          flotilla train auto --models lr,ffm,deepfm --data clicks.csv --test new.csv --out models)";

struct AutoFlags {
  TrainFlags train;
  AutoOptions race;
  ModelsOptions models;
  std::string holdout;
  std::vector<std::string> names;  // --models
};

// SHARE, last:SHARE or random:SHARE.
Status ReadHoldout(std::string_view text, AutoOptions* race) {
  std::string_view share = text;
  for (const auto& [word, last] : {std::pair{"last:", true}, std::pair{"random:", false}}) {
    if (!share.starts_with(word)) continue;
    share.remove_prefix(std::string_view(word).size());
    race->last = last;
    break;
  }
  const auto number = ParseWhole<double>(share);
  if (number.has_value() && *number > 0 && *number < 1) {
    race->holdout = *number;
    return absl::OkStatus();
  }
  return InvalidArgument(
      "--holdout: '{}' is not a share between 0 and 1, or last:SHARE or random:SHARE", text);
}

Status ReadModels(const std::vector<std::string>& names, ModelsOptions* models) {
  std::vector<std::string> known;
  for (const ZooModel& model : Zoo()) known.emplace_back(model.name);
  for (const std::string& name : names) {
    const ZooModel* const model = FindZooModel(name);
    if (model == nullptr) {
      return InvalidArgument("--models: unknown model '{}'{}", name, DidYouMean(name, known));
    }
    for (const ZooModel* other : models->models) {
      if (other == model) return InvalidArgument("--models: {} is named twice", name);
    }
    models->models.push_back(model);
  }
  return absl::OkStatus();
}

// What needs several processes, or contradicts what the race decides.
Status CheckAutoFlags(const CLI::App& command, const AutoFlags& flags) {
  const TrainOptions& options = flags.train.options;
  const FleetOptions& fleet = options.fleet;
  if (fleet.job.mode.mode != "local" || fleet.server_num > 0 || fleet.role.is_trainer() ||
      fleet.role.is_server()) {
    return InvalidArgument(
        "train auto runs in one process. Run it without a mode on a sample of the rows first, then "
        "train the model that it chooses on all of them: flotilla train MODEL --epochs N --mode {} "
        "..",
        fleet.job.mode.mode == "local" ? "sync" : fleet.job.mode.mode);
  }
  const auto given = [&](const char* flag) { return command.count(flag) > 0; };
  if (!options.data.in_memory) {
    return InvalidArgument(
        "train auto keeps the rows in memory: leave out --no_in_memory, or run it on a sample of "
        "the rows and then train the model that it chooses: flotilla train MODEL --no_in_memory "
        "..");
  }
  if (options.keep.resume || !options.keep.init_model.empty()) {
    return InvalidArgument(
        "train auto starts anew: {} would need the race of the earlier run. To continue from a "
        "model of one network: flotilla train MODEL --init_model DIR ..",
        options.keep.resume ? "--resume" : "--init_model");
  }
  if (flags.names.empty()) {
    for (const char* flag : {"--epochs", "--batch_size", "--early_stop", "--plateau", "--watch",
                             "--save_epochs", "--save_steps", "--save_minutes"}) {
      if (!given(flag)) continue;
      return InvalidArgument(
          "{}: the race decides, leave it out; or name a model: flotilla train MODEL {} ..", flag,
          flag);
    }
    return absl::OkStatus();
  }
  if (given("--holdout")) {
    return InvalidArgument("--holdout is for the race, and --models has none: leave one out");
  }
  if (options.data.test.empty()) {
    return InvalidArgument("--models compares the models on test rows: give --test PATH");
  }
  return absl::OkStatus();
}

}  // namespace

void AddTrainAutoCommand(CLI::App& train, Action* action) {
  auto flags = std::make_shared<AutoFlags>();
  flags->train.options.model_name = "auto";
  CLI::App* command = train.add_subcommand(
      "auto", "Chooses a model by a race of a few on held-back rows, and trains it");
  AddTrainFlags(*command, &flags->train);
  AddSchemaFlags(*command, &flags->train);
  command
      ->add_option("--holdout", flags->holdout,
                   "Share of the training rows that is held back for the race: SHARE, last:SHARE "
                   "(the last rows) or random:SHARE (default: 0.1, the last rows if a time column "
                   "says that rows are in the order of time); all rows are trained on after it")
      ->type_name("SHARE");
  command
      ->add_option("--models", flags->names,
                   "Instead of a race, train each of these models, save it in OUT/NAME and compare "
                   "them on the test rows; separated by commas")
      ->delimiter(',')
      ->type_name("NAMES");
  AddConfigFlags(*command);
  command->group(kModelCommands);
  command->footer(std::string(kTrainJsonHelp) + kFooter);
  WhenChosen(*command, [flags, command, action] {
    action->check = [flags, command]() -> Status {
      FL_RETURN_IF_ERROR(SettleTrainFlags(&flags->train));
      FL_RETURN_IF_ERROR(CheckAutoFlags(*command, *flags));
      if (!flags->holdout.empty()) FL_RETURN_IF_ERROR(ReadHoldout(flags->holdout, &flags->race));
      const TrainOptions& options = flags->train.options;
      if (command->count("--epochs") > 0) flags->models.epochs = options.epochs;
      if (command->count("--batch_size") > 0) flags->models.batch_size = options.batch_size;
      return ReadModels(flags->names, &flags->models);
    };
    action->view = [flags](ConsoleOptions* view) { SetView(flags->train.options.view, view); };
    action->run = [flags](Terminal& terminal) {
      return flags->models.models.empty()
                 ? TrainAuto(flags->train.options, flags->race, terminal)
                 : TrainModels(flags->train.options, flags->models, terminal);
    };
  });
}

}  // namespace flotilla
