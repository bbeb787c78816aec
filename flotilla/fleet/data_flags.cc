#include "flotilla/fleet/data_flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <utility>

#include "flotilla/fleet/flags.h"

namespace flotilla {
namespace {

std::string FormatsHelp() {
  std::string names;
  for (const ParserFormat& format : ParserFormats()) {
    names += (names.empty() ? "" : ", ") + std::string(format.name);
  }
  return names;
}

std::vector<std::string> FormatNames() {
  std::vector<std::string> names;
  for (const ParserFormat& format : ParserFormats()) names.emplace_back(format.name);
  return names;
}

// Checks that the value consists of two parts with = between them; `form` (KEY=VALUE) is for the
// message.
CLI::Validator PairOf(const std::string& form) {
  auto check = [form](std::string& text) -> std::string {
    const size_t equals = text.find('=');
    if (equals != std::string::npos && equals > 0) return {};
    return fmt::format("'{}' is not of the form {}", text, form);
  };
  return {check, ""};
}

// The two parts of such a text.
std::pair<std::string, std::string> SplitPair(const std::string& text) {
  const size_t equals = text.find('=');
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

void AddFormatFlags(CLI::App& command, DataOptions* options, DataFlags* flags) {
  const std::string group = "Data sources and formats";
  command
      .add_option("--format", options->format.format,
                  "Format of the rows: " + FormatsHelp() + " (default: the model's own)")
      ->type_name("NAME")
      ->check(OneOf(FormatNames()))
      ->group(group);
  command
      .add_option("--format_param", flags->format_params,
                  "A parameter of the format, e.g. hash_dim=1000001; `flotilla data check --help` "
                  "lists them")
      ->type_name("KEY=VALUE")
      ->check(PairOf("KEY=VALUE"))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->group(group);
  command
      .add_option("--numeric", flags->numeric,
                  "Raw Criteo text: scaling of the 13 numbers: seeds, log or statistics; short for "
                  "--format_param numeric=NAME")
      ->type_name("NAME")
      ->group(group);
  command
      .add_option("--pipe_command", options->pipe_command,
                  "Shell command that converts each file (on its standard input) to rows (on its "
                  "standard output)")
      ->type_name("CMD")
      ->group(group);
  AddReachFlags(command, options, flags, group);
}

void AddIgnoreFormatFlag(CLI::App& command, DataOptions* options) {
  command
      .add_flag(
          "--ignore_format", options->ignore_format,
          "Use the given format even if the saved model was trained on rows of another format, "
          "with other parameters or another pipe command; only safe if the ids have the same "
          "meaning")
      ->group("Data sources and formats");
}

void AddReachFlags(CLI::App& command, DataOptions* options, DataFlags* flags,
                   const std::string& group) {
  AddOption(command, "--pipe_timeout", options->pipe_timeout_seconds,
            "Seconds without output after which a command is considered hung", "N", WholeNumber(1))
      ->group(group);
  command
      .add_option(
          "--scheme", flags->schemes,
          "Command that prints a remote file whose path begins with NAME:, e.g. s3='aws s3 cp - '; "
          "the path is appended (default: hdfs='hadoop fs -cat')")
      ->type_name("NAME=CMD")
      ->check(PairOf("NAME=CMD"))
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->allow_extra_args(false)
      ->group(group);
}

void AddReaderFlags(CLI::App& command, DataOptions* options) {
  const std::string group = "Reading rows";
  command
      .add_option("--cache", options->cache,
                  "Cache parsed rows in this directory, for later epochs and runs")
      ->type_name("DIR")
      ->group(group);
  AddOption(command, "--readers", options->readers,
            "Number of files to read in parallel; more than 1 helps with pipe commands and "
            "compressed files",
            "N", WholeNumber(1, kMaxThreads))
      ->group(group);
  AddOption(command, "--max_bad_rows", options->max_bad_rows,
            "Skip and count up to N rows that cannot be parsed; one more is an error", "N",
            WholeNumber(0))
      ->group(group);
}

void SettleDataFlags(const DataFlags& flags, DataOptions* options) {
  if (!flags.numeric.empty()) options->format.params["numeric"] = flags.numeric;
  for (const std::string& pair : flags.format_params) {
    options->format.params.insert(SplitPair(pair));
  }
  for (const std::string& pair : flags.schemes) {
    const auto [scheme, command] = SplitPair(pair);
    options->schemes[scheme] = command;
  }
}

}  // namespace flotilla
