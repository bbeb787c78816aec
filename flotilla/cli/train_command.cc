#include "flotilla/cli/train_command.h"

#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "flotilla/cli/builtin_models.h"
#include "flotilla/fleet/command_line.h"
#include "flotilla/fleet/train_flags.h"
#include "flotilla/fleet/train_report.h"
#include "flotilla/fleet/train_run.h"

namespace flotilla {
namespace {

constexpr char kExample[] = R"(

Example: flotilla train ctr_dnn --data train/ --test test/ --epochs 2 --out model)";

Status CheckTrain(TrainFlags* flags) {
  if (flags->options.model_name == "word2vec") {
    return InvalidArgument(
        "word2vec has flags of its own: write it directly after train, as in flotilla train "
        "word2vec --data ..");
  }
  FL_ASSIGN_OR_RETURN(const Model model,
                      MakeBuiltinModel(flags->options.model_name, Config(flags->model_values)));
  return SettleTrainFlags(model, flags);
}

Status Train(const TrainFlags& flags, Terminal& terminal) {
  FL_ASSIGN_OR_RETURN(const Model model,
                      MakeBuiltinModel(flags.options.model_name, Config(flags.model_values)));
  return TrainAndReport(flags.options, model, terminal);
}

}  // namespace

void AddTrainCommand(CLI::App& app, const std::string& model, Action* action) {
  auto flags = std::make_shared<TrainFlags>();
  CLI::App* command = app.add_subcommand("train", "Trains a model and reports its quality");
  command
      ->add_option(
          "MODEL", flags->options.model_name,
          "ctr_dnn (a deep click-through-rate network), lr (logistic regression on the same "
          "inputs) or word2vec (word vectors; see `flotilla train word2vec --help`)")
      ->type_name("")
      ->required();
  AddTrainFlags(*command, flags.get());
  const Status added = AddModelFlags(*command, BuiltinModelFlags(), flags.get());
  // Flags of other models are declared too, so that using one gives an error that says why.
  for (const std::string& flag : UnreadModelFlags(model)) {
    command->get_option("--" + flag)->group("");
  }
  AddConfigFlags(*command);
  command->footer(std::string(kTrainJsonHelp) + kExample);
  command->callback([flags, action, added] {
    action->check = [flags, added] { return added.ok() ? CheckTrain(flags.get()) : added; };
    action->view = [flags](ConsoleOptions* view) { SetView(flags->options.view, view); };
    action->run = [flags](Terminal& terminal) { return Train(*flags, terminal); };
  });
}

}  // namespace flotilla
