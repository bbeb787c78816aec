// The interface of a command: of the `flotilla` program (cli/commands.h) and of programs with
// fl::Main.
#pragma once

#include <functional>

#include "flotilla/base/status.h"
#include "flotilla/run/terminal.h"

namespace flotilla {

// What a subcommand does once the command line is parsed.
struct Action {
  // Checks that single flags cannot make: combinations, names. An error is a usage error, exit
  // code 2. Empty: there is nothing to check.
  std::function<Status()> check;
  // Sets how progress and messages are shown; called after `check`. Empty: chosen by the stream.
  std::function<void(ConsoleOptions*)> view;
  // The work. An error is a failure, exit code 1.
  std::function<Status(Terminal&)> run;
};

}  // namespace flotilla
