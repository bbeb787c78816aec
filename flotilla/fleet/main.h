// The whole of a user's program: a model function handed to fl::Main, which gives the program every
// option of training that the `flotilla` command has.
//
//   int main(int argc, char** argv) { return fl::Main(argc, argv, ClickModel); }
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "flotilla/fleet/config.h"

namespace flotilla {

// Reads the command line, trains, tests and saves as it says, and returns the exit code: 0 success,
// 1 failure, 2 usage error, 128 + signal, 200 a peer was lost. --help lists the common flags
// and the model's own, --help-all all of them.
int Main(int argc, char** argv, const ModelFunction& model);

// The same with streams of the caller's: results to `out`, progress and errors to `err`. `program`
// is argv[0], `args` do not have it.
int RunMain(const std::string& program, std::vector<std::string> args, const ModelFunction& model,
            std::ostream& out, std::ostream& err);

// The exit code for programs with a main of their own: 0, 1 failure, or 200 when a server or
// trainer was lost, stopped or restarted, so that restarting the job may help.
int ExitCodeOf(const Status& status);

}  // namespace flotilla
