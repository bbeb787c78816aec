// The main function of a user's program: fl::Main takes a model function and gives the program all
// training options of the `flotilla` command.
//
//   int main(int argc, char** argv) { return fl::Main(argc, argv, ClickModel); }
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "flotilla/trainer/config.h"

namespace flotilla {

// Parses the command line, trains, tests and saves accordingly, and returns the exit code: 0
// success, 1 failure, 2 usage error, 128 + signal, 200 a peer was lost. --help lists the common
// flags and the model's own, --help-all all of them.
int Main(int argc, char** argv, const ModelFunction& model);

// The same with the caller's streams: results to `out`, progress and errors to `err`. `program`
// is argv[0], `args` do not include it.
int RunMain(const std::string& program, std::vector<std::string> args, const ModelFunction& model,
            std::ostream& out, std::ostream& err);

// The exit code for programs with their own main: 0 success, 1 failure, or 200 when a server or
// trainer was lost, stopped or restarted, so that restarting the job may help.
int ExitCodeOf(const Status& status);

}  // namespace flotilla
