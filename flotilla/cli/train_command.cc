#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "flotilla/cli/builtin_models.h"
#include "flotilla/cli/commands.h"
#include "flotilla/fleet/command_line.h"
#include "flotilla/fleet/train_flags.h"
#include "flotilla/run/train_report.h"

namespace flotilla {
namespace {

constexpr char kExample[] = R"(

Example: flotilla train ctr_dnn --data train/ --test test/ --epochs 2 --out model)";

// A model of rows.
void AddModel(CLI::App& train, const BuiltinModel& model, Action* action) {
  auto flags = std::make_shared<TrainFlags>();
  flags->options.model_name = model.name;
  CLI::App* command = train.add_subcommand(std::string(model.name), std::string(model.help));
  AddTrainFlags(*command, flags.get());
  const Config defaults;
  const Status made = model.make(defaults).status();  // reads every flag
  const Status added = made.ok() ? AddModelFlags(*command, defaults.flags(), flags.get()) : made;
  AddConfigFlags(*command);
  command->group(kModelCommands);
  command->footer(std::string(kTrainJsonHelp) + kExample);
  command->callback([flags, action, added, make = model.make] {
    action->check = [flags, added, make]() -> Status {
      FL_RETURN_IF_ERROR(added);
      FL_ASSIGN_OR_RETURN(const Model checked, MakeModel(make, Config(flags->model_values)));
      return SettleTrainFlags(checked, flags.get());
    };
    action->view = [flags](ConsoleOptions* view) { SetView(flags->options.view, view); };
    action->run = [flags, make](Terminal& terminal) -> Status {
      FL_ASSIGN_OR_RETURN(const Model built, MakeModel(make, Config(flags->model_values)));
      return TrainAndReport(flags->options, built, terminal);
    };
  });
}

}  // namespace

void AddTrainCommand(CLI::App& app, Action* action) {
  CLI::App* train = app.add_subcommand("train", "Trains a model and reports its quality");
  train->require_subcommand(1);
  for (const BuiltinModel& model : BuiltinModels()) AddModel(*train, model, action);
  AddTrainWord2VecCommand(*train, action);
  // After the subcommands were added, which would inherit it.
  train->footer("`flotilla train MODEL --help` lists the flags of a model.");
}

}  // namespace flotilla
