// The `flotilla` program as a function: reads the command line, runs the subcommand, turns errors
// into messages and exit codes. main.cc gives it the process's streams, tests give it their own.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "flotilla/fleet/command_line.h"

namespace flotilla {

// Runs one command; `args` are those after the program's name, `program` is how it was called.
// Results go to `out`, progress and errors to `err`. In the names of flags '-' and '_' are the
// same.
int RunProgram(std::vector<std::string> args, std::ostream& out, std::ostream& err,
               const std::string& program = "flotilla");

}  // namespace flotilla
