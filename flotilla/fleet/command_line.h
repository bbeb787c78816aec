// Reads a command line and runs what it asks for: shared by the `flotilla` program and by programs
// with fl::Main. Turns mistakes into messages that suggest the nearest known name, and errors into
// exit codes.
//
// In every command that has AddConfigFlags, flags take precedence over the configuration file
// (--config), which takes precedence over defaults; --print_config prints all of them and where
// each came from.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "flotilla/fleet/action.h"
#include "flotilla/fleet/cli_fwd.h"
#include "flotilla/run/terminal.h"

namespace flotilla {

// Exit codes; a run that a signal ended exits with 128 + the signal.
inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;     // the command ran and failed
inline constexpr int kUsageError = 2;  // the command did not run: the command line is wrong
inline constexpr int kPeerLost = 200;  // a peer was lost, a restart may help

// Sets what all our command lines have in common: if a flag is given twice, the last one counts, so
// that scripts can append their own. Call this before flags are declared.
void PrepareCommandLine(CLI::App& app);

// Declares --config and --print_config. The file is TOML without sections: one `flag = value` per
// line, with the names of the flags.
void AddConfigFlags(CLI::App& command);

// The group of commands that are names of models.
inline constexpr char kModelCommands[] = "Models";

// The group of the flags that a model reads.
inline constexpr char kModelFlags[] = "Model flags";

// Shortens --help of a command with many flags: it then shows only the flags of the default group
// and those of the model. Declares --help_all, which shows all flags.
void AddHelpAll(CLI::App& command);

// Parses `args` (without the program's name) into `app` and runs *action, which the callback of the
// chosen command has filled. `program` is argv[0], for messages that show a command to type.
// Results go to `out`, progress and errors to `err`. In the names of flags '-' and '_' are
// equivalent. Returns the exit code.
int RunCommandLine(CLI::App& app, const std::string& program, std::vector<std::string> args,
                   const Action& action, std::ostream& out, std::ostream& err);

}  // namespace flotilla
