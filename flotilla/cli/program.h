// The `flotilla` program as a function: reads the command line, runs the subcommand, turns errors
// into messages and exit codes. main.cc passes the standard streams of the process, tests pass
// their own.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "flotilla/fleet/command_line.h"

namespace flotilla {

// Runs one command; `args` are the arguments after the program's name, `program` is argv[0].
// Results go to `out`, progress and errors to `err`. In the names of flags '-' and '_' are
// equivalent. Returns the exit code (fleet/command_line.h).
int RunProgram(std::vector<std::string> args, std::ostream& out, std::ostream& err,
               const std::string& program = "flotilla");

}  // namespace flotilla
