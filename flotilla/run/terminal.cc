#include "flotilla/run/terminal.h"

#include <unistd.h>

#include <iostream>

namespace flotilla {

ConsoleOptions ConsoleOptionsFor(const std::ostream& err) {
  ConsoleOptions options;
  if (&err != &std::cerr || !TerminalColumns(STDERR_FILENO)) return options;
  options.live = true;
  options.columns = [] { return TerminalColumns(STDERR_FILENO).value_or(80); };
  return options;
}

}  // namespace flotilla
