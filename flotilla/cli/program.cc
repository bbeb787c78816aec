#include "flotilla/cli/program.h"

#include <fmt/ostream.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "flotilla/cli/command.h"
#include "flotilla/cli/flags.h"
#include "flotilla/cli/nearest_name.h"
#include "flotilla/cli/synth_command.h"
#include "flotilla/cli/terminal.h"
#include "flotilla/cli/train_command.h"

namespace flotilla {
namespace {

constexpr int kHelpColumn = 28;
constexpr size_t kHelpWidth = 100 - kHelpColumn;

void AddCommands(CLI::App& app, Action* action) {
  AddTrainCommand(app, action);
  CLI::App* data = app.add_subcommand("data", "Makes data sets: data synth criteo");
  CLI::App* synth = data->add_subcommand("synth", "Makes rows from a planted model: synth criteo");
  data->require_subcommand(1);
  synth->require_subcommand(1);
  AddSynthCriteoCommand(*synth, action);
}

bool IsFlag(const std::string& arg) { return arg.size() > 2 && arg.starts_with("--"); }

// --batch-size=100 -> --batch_size=100
void UnderscoreFlag(std::string* arg) {
  const size_t end = std::min(arg->find('='), arg->size());
  std::replace(arg->begin() + 2, arg->begin() + static_cast<std::ptrdiff_t>(end), '-', '_');
}

std::vector<std::string> FlagNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::vector<std::string> CommandNames(CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

// Finds unknown commands and flags before the parser does, which knows no nearest name. *chosen is
// the command that the words so far have led to, *path its words.
Status CheckNames(const std::vector<std::string>& args, CLI::App* app, CLI::App** chosen,
                  std::string* path) {
  *chosen = app;
  *path = app->get_name();
  for (const std::string& arg : args) {
    if (arg == "--") break;
    if (IsFlag(arg)) {
      const std::string name = arg.substr(0, arg.find('='));
      if ((*chosen)->get_option_no_throw(name) == nullptr) {
        return InvalidArgument("unknown flag {}{}", name, DidYouMean(name, FlagNames(**chosen)));
      }
    } else if (const std::vector<std::string> names = CommandNames(**chosen);
               !names.empty() && !arg.starts_with('-')) {
      if (std::find(names.begin(), names.end(), arg) == names.end()) {
        return InvalidArgument("unknown command '{}'{}", arg, DidYouMean(arg, names));
      }
      *chosen = (*chosen)->get_subcommand(arg);
      *path += " " + arg;
    }
  }
  return absl::OkStatus();
}

int UsageError(std::string_view path, std::string_view message, std::ostream& err) {
  fmt::print(err, "{0}: {1}\nTry: {0} --help\n", path, message);
  return kUsageError;
}

int RunAction(const Action& action, const std::string& path, std::ostream& out, std::ostream& err) {
  if (const Status status = action.check(); !status.ok()) {
    return UsageError(path, Message(status), err);
  }
  const std::unique_ptr<spdlog::logger> log = MakeLog(err);
  const SteadyClock clock;
  Terminal terminal{.out = out, .log = *log, .clock = clock};
  const Status status = action.run(terminal);
  out.flush();
  if (!status.ok()) {
    fmt::print(err, "{}: {}\n", path, Message(status));
    return kFailure;
  }
  if (!out.good()) {
    fmt::print(err, "{}: cannot write the results to standard output\n", path);
    return kFailure;
  }
  return kSuccess;
}

}  // namespace

int RunProgram(std::vector<std::string> args, std::ostream& out, std::ostream& err) {
  CLI::App app("Flotilla trains models with very large sparse parameters on ordinary CPUs.",
               "flotilla");
  app.set_version_flag("--version", "flotilla " FLOTILLA_VERSION, "Prints the version");
  app.require_subcommand(1);
  app.get_formatter()->column_width(kHelpColumn);
  app.footer("flotilla SUBCOMMAND --help tells its flags.");
  // Of a flag that is given twice the last one counts, so that scripts can append their own.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  Action action;
  AddCommands(app, &action);
  WrapDescriptions(app, kHelpWidth);
  for (std::string& arg : args) {
    if (arg == "--") break;
    if (IsFlag(arg)) UnderscoreFlag(&arg);
  }
  CLI::App* chosen = nullptr;
  std::string path;
  if (const Status status = CheckNames(args, &app, &chosen, &path); !status.ok()) {
    return UsageError(path, Message(status), err);
  }
  std::reverse(args.begin(), args.end());  // as the parser wants them
  try {
    app.parse(args);
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e, out, err);
  } catch (const CLI::ParseError& e) {
    return UsageError(path, e.what(), err);
  }
  return RunAction(action, path, out, err);
}

}  // namespace flotilla
