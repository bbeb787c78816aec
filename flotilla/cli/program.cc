#include "flotilla/cli/program.h"

#include <CLI/CLI.hpp>
#include <functional>
#include <utility>

#include "flotilla/cli/commands.h"
#include "flotilla/fleet/action.h"

namespace flotilla {
namespace {

void AddCommands(CLI::App& app, Action* action) {
  AddTrainCommand(app, action);
  AddInferCommand(app, action);
  AddInspectCommand(app, action);
  AddExportCommand(app, action);
  AddLaunchCommand(app, action);
  AddSimilarCommand(app, action);
  CLI::App* data = app.add_subcommand("data", "Generates, prepares and checks data");
  CLI::App* synth =
      data->add_subcommand("synth", "Generates synthetic data from a known model: rows or text");
  data->require_subcommand(1);
  synth->require_subcommand(1);
  AddCriteoCommand(*data, action);
  AddSchemaCommand(*data, action);
  AddStatsCommand(*data, action);
  AddCheckCommand(*data, action);
  AddGenerateCommand(*data, action);
  AddSynthCriteoCommand(*synth, action);
  AddSynthCorpusCommand(*synth, action);
  CLI::App* corpus = data->add_subcommand(
      "corpus", "Prepares text for word2vec: dictionary, ids, equal-sized files");
  corpus->require_subcommand(1);
  AddBuildDictCommand(*corpus, action);
  AddFilterCorpusCommand(*corpus, action);
  AddResplitCorpusCommand(*corpus, action);
}

}  // namespace

void WhenChosen(CLI::App& command, std::function<void()> then) {
  command.callback(std::move(then));
}

int RunProgram(std::vector<std::string> args, std::ostream& out, std::ostream& err,
               const std::string& program) {
  CLI::App app("Flotilla trains models with very large sparse parameters on ordinary CPUs.",
               "flotilla");
  PrepareCommandLine(app);
  app.set_version_flag("--version", "flotilla " FLOTILLA_VERSION, "Print the version and exit");
  app.require_subcommand(1);
  Action action;
  AddCommands(app, &action);
  // After the subcommands were added, which would inherit it.
  app.footer("`flotilla SUBCOMMAND --help` lists the flags of a subcommand.");
  return RunCommandLine(app, program, std::move(args), action, out, err);
}

}  // namespace flotilla
