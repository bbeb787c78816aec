// The output streams and the clock of a command, passed in so that tests can run complete commands
// inside one process.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/console.h"
#include "flotilla/base/logger.h"

namespace flotilla {

struct Terminal {
  std::ostream& out;  // results, and nothing else
  Console& console;   // progress of long tasks
  Logger& log;        // the console's: messages; thread-safe
  const Clock& clock;
  std::string program;            // argv[0]
  std::vector<std::string> args;  // the arguments after it
  std::string command_line;       // both, quoted for a shell
  // The exit code of the program if the command succeeds; 128 + signal if a signal ended it, with
  // or without an error.
  int exit_code = 0;
};

// The options of a console on `err`: with a live line if that is standard error and a terminal.
ConsoleOptions ConsoleOptionsFor(const std::ostream& err);

}  // namespace flotilla
