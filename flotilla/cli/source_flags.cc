#include "flotilla/cli/source_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "flotilla/fleet/flags.h"

namespace flotilla {
namespace {

// NAME=CMD
CLI::Validator SchemeCommand() {
  auto check = [](std::string& text) -> std::string {
    const size_t equals = text.find('=');
    if (equals != std::string::npos && equals > 0) return {};
    return fmt::format("'{}' is not of the form NAME=CMD", text);
  };
  return {check, ""};
}

}  // namespace

SourceOptions SourceOf(const DataOptions& options) {
  SourceOptions source;
  source.pipe_command = options.pipe_command;
  source.idle_timeout_ms = options.pipe_timeout_seconds * 1000;
  source.scheme_commands = options.schemes;
  return source;
}

void AddPathsArgument(CLI::App& command, std::vector<std::string>* paths, const std::string& what) {
  command.add_option("PATH", *paths, fmt::format("{}: {}", what, kPathsHelp))
      ->type_name("..")
      ->required();
}

void AddSourceFlags(CLI::App& command, SourceFlags* flags) {
  command
      .add_option("--pipe_timeout", flags->data.pipe_timeout_seconds,
                  "Seconds without output after which a command counts as hung")
      ->type_name("N")
      ->check(WholeNumber(1))
      ->capture_default_str();
  command
      .add_option("--scheme", flags->data_flags.schemes,
                  "The command that prints a remote file, e.g. s3='aws s3 cp - '; the path is "
                  "appended (default: hdfs='hadoop fs -cat')")
      ->type_name("NAME=CMD")
      ->check(SchemeCommand())
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false);
}

void AddThreadsFlag(CLI::App& command, int* threads, const std::string& help) {
  *threads = Cores();
  command.add_option("--threads", *threads, help + " Default: the number of cores")
      ->type_name("N")
      ->check(WholeNumber(1, kMaxThreads));
}

void AddMaxBadRowsFlag(CLI::App& command, int64_t* rows, const std::string& help) {
  command.add_option("--max_bad_rows", *rows, help)
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str();
}

}  // namespace flotilla
