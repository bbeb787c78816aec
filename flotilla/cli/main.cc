// The `flotilla` program; program.h implements it.
#include "flotilla/cli/program.h"

#include <iostream>

#include "flotilla/base/process_start.h"

int main(int argc, char** argv) {
  flotilla::PrepareProcess("flotilla");
  return flotilla::RunProgram(std::vector<std::string>(argv + 1, argv + argc), std::cout, std::cerr,
                              argv[0]);
}
