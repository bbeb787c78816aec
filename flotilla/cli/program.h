// The `flotilla` program as a function: reads the command line, runs the subcommand, turns errors
// into messages and exit codes. main.cc gives it the process's streams, tests give it their own.
#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace flotilla {

// Exit codes.
inline constexpr int kSuccess = 0;
inline constexpr int kFailure = 1;     // it was tried and did not work
inline constexpr int kUsageError = 2;  // it was not tried: the command line is wrong

// Runs one command; `args` are those after the program's name. Results go to `out`, progress and
// errors to `err`. In the names of flags '-' and '_' are the same.
int RunProgram(std::vector<std::string> args, std::ostream& out, std::ostream& err);

}  // namespace flotilla
