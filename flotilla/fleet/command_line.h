// Reads a command line and runs what it asks for: shared by the `flotilla` program and by programs
// with fl::Main. Turns mistakes into messages with the nearest known name, and errors into exit
// codes.
//
// Every command that has AddConfigFlags takes flags over the configuration file (--config) over
// defaults, and prints all of them, with where each came from, on --print_config.
#pragma once

#include <CLI/App.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "flotilla/fleet/action.h"
#include "flotilla/fleet/terminal.h"

namespace flotilla {

// Exit codes; a run that a signal ended exits with 128 + the signal.
inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;     // it was tried and did not work
inline constexpr int kUsageError = 2;  // it was not tried: the command line is wrong
inline constexpr int kPeerLost = 200;  // a peer was lost, a restart may help

// Sets what all our command lines have in common: of a flag that is given twice the last one
// counts, so that scripts can append their own. To be called before flags are declared.
void PrepareCommandLine(CLI::App& app);

// Declares --config and --print_config. The file is TOML without sections: one `flag = value` a
// line, with the names of the flags.
void AddConfigFlags(CLI::App& command);

// The group of the flags that a model reads.
inline constexpr char kModelFlags[] = "Model flags";

// Makes --help of a command with many flags short: it shows the flags without a group of their own
// and the model's; --help_all, which this declares, shows all.
void AddHelpAll(CLI::App& command);

// Reads `args` (without the program's name) into `app` and runs *action, which the callback of the
// chosen command has filled. `program` is how the program was called, for commands that are printed
// to be typed. Results go to `out`, progress and errors to `err`. In the names of flags '-' and '_'
// are the same. Returns the exit code.
int RunCommandLine(CLI::App& app, const std::string& program, std::vector<std::string> args,
                   const Action& action, std::ostream& out, std::ostream& err);

// The command that goes on with a run that was stopped, as a shell reads it: what was typed, with
// --resume and without --overwrite.
std::string ResumeCommand(const Terminal& terminal);

}  // namespace flotilla
