#include "flotilla/fleet/command_line.h"

#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "flotilla/base/nearest_name.h"
#include "flotilla/fleet/config_file.h"
#include "flotilla/fleet/flags.h"
#include "flotilla/fleet/main.h"
#include "flotilla/run/typed_command.h"

namespace flotilla {
namespace {

constexpr int kHelpColumn = 28;
constexpr size_t kHelpWidth = 100 - kHelpColumn;

// --batch-size=100 -> --batch_size=100
void UnderscoreFlag(std::string* arg) {
  const size_t end = std::min(arg->find('='), arg->size());
  std::replace(arg->begin() + 2, arg->begin() + static_cast<std::ptrdiff_t>(end), '-', '_');
}

std::vector<std::string> CommandNames(CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

// What the subcommands of `app` are called.
const char* CommandNoun(CLI::App& app) {
  return app.get_subcommands({}).front()->get_group() == kModelCommands ? "model" : "command";
}

// Finds unknown commands and flags before CLI11 does, whose messages suggest no nearest name.
// *chosen becomes the command that the arguments select, *path its words.
Status CheckNames(const std::vector<std::string>& args, CLI::App* app, CLI::App** chosen,
                  std::string* path) {
  *chosen = app;
  *path = app->get_name();
  for (const std::string& arg : args) {
    if (arg == "--") break;
    if (IsFlag(arg)) {
      const std::string name = arg.substr(0, arg.find('='));
      const std::vector<std::string> commands = CommandNames(**chosen);
      if ((*chosen)->get_option_no_throw(name) == nullptr && !commands.empty()) {
        return InvalidArgument("{} comes after the {}: first give one of {}", name,
                               CommandNoun(**chosen), fmt::join(commands, ", "));
      }
      if ((*chosen)->get_option_no_throw(name) == nullptr) {
        return InvalidArgument("unknown flag {}{}", name, DidYouMean(name, FlagNames(**chosen)));
      }
    } else if (const std::vector<std::string> names = CommandNames(**chosen);
               !names.empty() && !arg.starts_with('-')) {
      if (std::find(names.begin(), names.end(), arg) == names.end()) {
        return InvalidArgument("unknown {} '{}'{}", CommandNoun(**chosen), arg,
                               DidYouMean(arg, names));
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

int RunAction(const Action& action, const std::string& path, const std::string& program,
              const std::vector<std::string>& args, std::ostream& out, std::ostream& err) {
  if (const Status status = action.check ? action.check() : absl::OkStatus(); !status.ok()) {
    return UsageError(path, Message(status), err);
  }
  const SteadyClock clock;
  ConsoleOptions view = ConsoleOptionsFor(err);
  if (action.view) action.view(&view);
  Console console(err, &clock, std::move(view));
  Terminal terminal{.out = out,
                    .console = console,
                    .log = console.log(),
                    .clock = clock,
                    .program = program,
                    .args = args,
                    .command_line = TypedCommand(program, args)};
  const Status status = action.run(terminal);
  console.EndTask();
  out.flush();
  if (!status.ok()) {
    fmt::print(err, "{}: {}\n", path, Message(status));
    if (terminal.exit_code != 0) return terminal.exit_code;
    return ExitCodeOf(status);
  }
  if (!out.good()) {
    fmt::print(err, "{}: cannot write the results to standard output\n", path);
    return kFailure;
  }
  return terminal.exit_code;
}

constexpr char kHelpAll[] = "--help_all";

// Turns --help_all into CLI11's --help; for plain --help, hides the flags that only --help_all
// shows.
void ChooseHelp(std::vector<std::string>* args, CLI::App& command) {
  if (command.get_option_no_throw(kHelpAll) == nullptr) return;
  const auto end = std::find(args->begin(), args->end(), "--");
  const auto all = std::find(args->begin(), end, kHelpAll);
  if (all != end) {
    *all = "--help";
    return;
  }
  if (std::find(args->begin(), end, "--help") == end &&
      std::find(args->begin(), end, "-h") == end) {
    return;
  }
  const std::string standard = command.get_help_ptr()->get_group();
  for (CLI::Option* option : command.get_options()) {
    if (option->get_group() != standard && option->get_group() != kModelFlags) option->group("");
  }
}

// The value of --config; empty if it was not given.
std::string ConfigPath(const std::vector<std::string>& args) {
  std::string path;
  for (size_t i = 0; i < args.size() && args[i] != "--"; ++i) {
    if (args[i] == "--config" && i + 1 < args.size()) path = args[i + 1];
    if (args[i].starts_with("--config=")) path = args[i].substr(9);
  }
  return path;
}

}  // namespace

void PrepareCommandLine(CLI::App& app) {
  app.get_formatter()->column_width(kHelpColumn);
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
}

void AddHelpAll(CLI::App& command) {
  command.add_flag_callback(
      kHelpAll, [] {}, "Print all flags: data formats, reading rows, saving, servers, output");
}

void AddConfigFlags(CLI::App& command) {
  command
      .add_option("--config",
                  "Read flags that are not given on the command line from this TOML file: one "
                  "`flag = value` per line, names without dashes")
      ->type_name("FILE");
  command.add_flag_callback(
      "--print_config", [] {},
      "Print all flags with their values and where each came from, in the format of --config, and "
      "exit");
}

int RunCommandLine(CLI::App& app, const std::string& program, std::vector<std::string> args,
                   const Action& action, std::ostream& out, std::ostream& err) {
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
  const std::vector<std::string> given = args;
  const std::string config = ConfigPath(args);
  std::vector<std::string> from_file;
  if (!config.empty()) {
    StatusOr<std::vector<std::string>> flags = FlagsOfFile(config, *chosen, args);
    if (!flags.ok()) return UsageError(path, Message(flags.status()), err);
    from_file = *std::move(flags);
    args.insert(args.end(), from_file.begin(), from_file.end());
  }
  ChooseHelp(&args, *chosen);
  std::reverse(args.begin(), args.end());  // CLI11 takes them in reverse order
  try {
    app.parse(args);
  } catch (const CLI::Success& e) {  // --help, --version
    return app.exit(e, out, err);
  } catch (const CLI::ParseError& e) {
    return UsageError(path, e.what(), err);
  }
  const CLI::Option* print = chosen->get_option_no_throw("--print_config");
  if (print != nullptr && print->count() > 0) {
    out << ConfigText(*chosen, config, from_file);
    return kSuccess;
  }
  return RunAction(action, path, program, given, out, err);
}

}  // namespace flotilla
