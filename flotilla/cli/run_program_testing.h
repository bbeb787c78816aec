// Runs the program inside a test and captures its output. For test programs only.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "flotilla/cli/program.h"

namespace flotilla {

struct ProgramRun {
  int code = 0;
  std::string out;
  std::string err;
};

inline ProgramRun RunForTest(std::vector<std::string> args) {
  std::ostringstream out, err;
  const int code = RunProgram(std::move(args), out, err);
  return {code, out.str(), err.str()};
}

}  // namespace flotilla
