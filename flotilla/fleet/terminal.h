// Where a subcommand speaks, and what time it is: passed in, so that tests run whole commands
// inside one process.
#pragma once

#include <spdlog/logger.h>

#include <memory>
#include <ostream>
#include <string>

#include "flotilla/base/clock.h"

namespace flotilla {

struct Terminal {
  std::ostream& out;    // results, and nothing else
  std::ostream& err;    // where the log goes
  spdlog::logger& log;  // progress and messages; thread-safe
  const Clock& clock;
  std::string command_line;  // what was typed, quoted for a shell
  // What the program exits with when the command succeeds; 128 + signal when a signal ended it.
  int exit_code = 0;
};

// A log whose lines go to `err` with the time of day in front. REQUIRES: err outlives it.
std::unique_ptr<spdlog::logger> MakeLog(std::ostream& err);

}  // namespace flotilla
