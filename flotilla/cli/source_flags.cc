#include "flotilla/cli/source_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "flotilla/base/worker_pool.h"
#include "flotilla/fleet/flags.h"

namespace flotilla {

void AddPathsArgument(CLI::App& command, std::vector<std::string>* paths, const std::string& what) {
  command.add_option("PATH", *paths, fmt::format("{}: {}", what, kPathsHelp))
      ->type_name("..")
      ->required();
}

void AddThreadsFlag(CLI::App& command, int* threads, const std::string& help) {
  *threads = Cores();
  command.add_option("--threads", *threads, help + " Default: the number of cores")
      ->type_name("N")
      ->check(WholeNumber(1, kMaxThreads));
}

void AddMaxBadRowsFlag(CLI::App& command, int64_t* rows, const std::string& help) {
  AddOption(command, "--max_bad_rows", *rows, help, "N", WholeNumber(0));
}

}  // namespace flotilla
