#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "flotilla/cli/builtin_models.h"
#include "flotilla/cli/commands.h"
#include "flotilla/fleet/command_line.h"
#include "flotilla/fleet/train_flags.h"
#include "flotilla/models/zoo.h"
#include "flotilla/run/row_features.h"
#include "flotilla/run/train_report.h"

namespace flotilla {
namespace {

constexpr char kExample[] = R"(

Example: flotilla train ctr_dnn --data train/ --test test/ --epochs 2 --out model)";

constexpr char kZooExample[] = R"(

Examples: flotilla train {0} --data clicks.csv --test new.csv --out model
          flotilla data schema clicks.csv --label clicked --out clicks.schema
          flotilla train {0} --data clicks.csv --schema clicks.schema --out model)";

// Makes `check` and `make` the action of a command that trains a model of rows.
void SetTraining(CLI::App& command, const std::shared_ptr<TrainFlags>& flags,
                 std::function<Status()> check, MakeRowModel make, Action* action) {
  AddConfigFlags(command);
  command.group(kModelCommands);
  WhenChosen(command, [=] {
    action->check = check;
    action->view = [flags](ConsoleOptions* view) { SetView(flags->options.view, view); };
    action->run = [flags, make](Terminal& terminal) {
      return TrainAndReport(flags->options, make, terminal);
    };
  });
}

// A model with inputs of its own.
void AddModel(CLI::App& train, const BuiltinModel& model, Action* action) {
  auto flags = std::make_shared<TrainFlags>();
  flags->options.model_name = model.name;
  CLI::App* command = train.add_subcommand(std::string(model.name), std::string(model.help));
  AddTrainFlags(*command, flags.get());
  const Config defaults;
  const Status read = model.make(defaults).status();  // reads every flag
  const Status added = read.ok() ? AddModelFlags(*command, defaults.flags(), flags.get()) : read;
  command->footer(std::string(kTrainJsonHelp) + kExample);
  const auto check = [flags, added, make = model.make]() -> Status {
    FL_RETURN_IF_ERROR(added);
    FL_ASSIGN_OR_RETURN(const Model checked, MakeModel(make, Config(flags->model_values)));
    FL_RETURN_IF_ERROR(SettleTrainFlags(flags.get()));
    return CheckModelFlags(checked, flags->options);
  };
  const auto make = [flags, make = model.make](Terminal&, const Interrupt*) -> StatusOr<RowModel> {
    FL_ASSIGN_OR_RETURN(Model made, MakeModel(make, Config(flags->model_values)));
    return RowModel{.model = std::move(made)};
  };
  SetTraining(*command, flags, check, make, action);
}

// A model that takes its inputs from the data.
void AddZooModel(CLI::App& train, const ZooModel& model, Action* action) {
  auto flags = std::make_shared<TrainFlags>();
  flags->options.model_name = model.name;
  flags->options.epochs = model.recipe.seen_rows == 0 ? model.recipe.epochs : 0;
  flags->options.batch_size = 0;
  CLI::App* command = train.add_subcommand(std::string(model.name), std::string(model.help));
  AddTrainFlags(*command, flags.get());
  AddSchemaFlags(*command, flags.get());
  command->get_option("--batch_size")
      ->default_str("")
      ->description(
          fmt::format("Rows per batch (default {}, but at most a 500th of the training rows)",
                      model.recipe.batch_size));
  if (model.recipe.seen_rows > 0) {
    command->get_option("--epochs")
        ->default_str("")
        ->description(fmt::format("Number of passes over the training rows (default {}; for fewer "
                                  "than {} rows more, at most "
                                  "{})",
                                  model.recipe.epochs, model.recipe.seen_rows / model.recipe.epochs,
                                  kMostEpochs));
  }
  const Config defaults;
  Status added = ReadZooFlags(model, defaults);
  if (added.ok()) added = AddModelFlags(*command, defaults.flags(), flags.get());
  command->footer(std::string(kTrainJsonHelp) + fmt::format(kZooExample, model.name));
  const auto check = [flags, added, &model]() -> Status {
    FL_RETURN_IF_ERROR(added);
    FL_RETURN_IF_ERROR(ReadZooFlags(model, Config(flags->model_values)));
    return SettleTrainFlags(flags.get());
  };
  const auto make = [flags, &model](Terminal& terminal,
                                    const Interrupt* interrupt) -> StatusOr<RowModel> {
    FL_ASSIGN_OR_RETURN(DescribedRows rows,
                        FindRowFeatures(flags->options, model.fields, terminal, interrupt));
    double cooldown = 0;
    const ModelFunction function = [&](const Config& config) {
      // Where workers join, steps depend on their number, which servers do not know.
      const Mode& mode = GetMode(flags->options.fleet.job.mode.mode);
      cooldown = ReadCooldown(config, !mode.joins_workers);
      return MakeZooModel(model, rows.features, config);
    };
    FL_ASSIGN_OR_RETURN(Model made, MakeModel(function, Config(flags->model_values)));
    made.format = rows.format;
    const int64_t epochs = DefaultEpochs(model.recipe, rows.features);
    const int64_t batch_size = DefaultBatchSize(model.recipe, rows.features);
    return RowModel{.model = std::move(made),
                    .rows = std::move(rows),
                    .epochs = epochs,
                    .batch_size = batch_size,
                    .cooldown = cooldown};
  };
  SetTraining(*command, flags, check, make, action);
}

}  // namespace

void AddTrainCommand(CLI::App& app, Action* action) {
  CLI::App* train = app.add_subcommand("train", "Trains a model and reports its quality");
  train->require_subcommand(1);
  AddTrainAutoCommand(*train, action);
  for (const ZooModel& model : Zoo()) AddZooModel(*train, model, action);
  for (const BuiltinModel& model : BuiltinModels()) AddModel(*train, model, action);
  AddTrainWord2VecCommand(*train, action);
  // After the subcommands were added, which would inherit it.
  train->footer("`flotilla train MODEL --help` lists the flags of a model.");
}

}  // namespace flotilla
