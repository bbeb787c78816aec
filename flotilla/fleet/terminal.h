// Where a command speaks, and what time it is: passed in, so that tests run whole commands inside
// one process.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/console.h"

namespace flotilla {

struct Terminal {
  std::ostream& out;    // results, and nothing else
  Console& console;     // progress of long tasks
  spdlog::logger& log;  // the console's: messages; thread-safe
  const Clock& clock;
  std::string program;            // as it was called
  std::vector<std::string> args;  // what was typed behind it
  std::string command_line;       // both, quoted for a shell
  // What the program exits with when the command succeeds; 128 + signal when a signal ended it,
  // with or without an error.
  int exit_code = 0;
};

// How a console shows itself on `err`: live if that is standard error and a terminal.
ConsoleOptions ConsoleOptionsFor(const std::ostream& err);

}  // namespace flotilla
