#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>

#include "flotilla/cli/commands.h"
#include "flotilla/cli/source_flags.h"
#include "flotilla/dataset/prepare/criteo_prepare.h"
#include "flotilla/fleet/flags.h"
#include "flotilla/run/open_data.h"
#include "flotilla/run/task_progress.h"

namespace flotilla {
namespace {

struct CriteoFlags {
  SourceFlags source;
  std::string out;
  CriteoPrepareOptions options;
  std::string buckets = "none";
  bool json = false;
};

std::string CountsNote(const CriteoPrepared& result) {
  if (result.exact_counts) {
    return fmt::format("exact, {} distinct categories", result.distinct_values);
  }
  return fmt::format(
      "approximate: more memory is needed for exact counts; for 98 % of the categories at most "
      "{:.0f} too high, so some rare ones were kept",
      result.likely_excess);
}

std::string Table(const CriteoPrepared& result) {
  const CriteoStatistics& statistics = result.statistics;
  std::string text = fmt::format("{:<14}{:>12}\n{:<14}{:>12}\n{:<14}{:>12}\n", "training rows",
                                 statistics.train_rows, "test rows", statistics.test_rows,
                                 "skipped rows", result.skipped);
  if (statistics.min_count > 1) {
    text += fmt::format("{:<14}{:>12}\n{:<14}  {}\n", "rare fields", result.rare_fields, "counts",
                        CountsNote(result));
  }
  text += fmt::format("\n{:<8}{:>12}{:>12}{:>22}{:>22}\n", "number", "rows", "missing", "min",
                      "95th percentile");
  for (int i = 0; i < kCriteoNumbers; ++i) {
    const CriteoStatistics::Column& column = statistics.columns[i];
    text += fmt::format("{:<8}{:>12}{:>12}{:>22}{:>22}{}\n", fmt::format("I{}", i + 1),
                        column.count, column.missing, column.min, column.p95,
                        column.exact ? "" : "  approximate, at most 0.1 % too large");
  }
  return text;
}

std::string JsonOf(const CriteoPrepared& result, double seconds) {
  nlohmann::ordered_json json = nlohmann::ordered_json::parse(ToText(result.statistics));
  json["skipped"] = result.skipped;
  json["samples"] = result.samples;
  if (result.statistics.min_count > 1) {
    json["rare_fields"] = result.rare_fields;
    json["exact_counts"] = result.exact_counts;
    if (result.exact_counts) json["distinct_categories"] = result.distinct_values;
    if (!result.exact_counts) json["likely_excess"] = result.likely_excess;
  }
  json["seconds"] = seconds;
  return json.dump() + "\n";
}

Status Prepare(const CriteoFlags& flags, Terminal& terminal) {
  FL_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                      FindFiles("PATH", flags.source.paths, flags.source.data));
  TaskProgress progress(terminal, "rows");
  CriteoPrepareOptions options = flags.options;
  options.threads = flags.source.threads;
  options.max_bad_rows = flags.source.data.max_bad_rows;
  options.reader.source = SourceOf(flags.source.data);
  options.reader.log = [&](std::string_view line) { terminal.log.warn("{}", line); };
  if (flags.buckets == "log2") options.buckets = CriteoPrepareOptions::Buckets::kLog2;
  options.on_progress = [&](std::string_view stage, const PassProgress& pass) {
    progress.Update(pass.lines, pass.fraction, stage);
  };
  FL_ASSIGN_OR_RETURN(const CriteoPrepared result, PrepareCriteo(files, flags.out, options));
  for (const std::string& sample : result.samples) terminal.log.warn("skipped {}", sample);
  const int64_t rows = result.statistics.train_rows + result.statistics.test_rows;
  terminal.log.info("wrote {} rows to {} in {:.1f} s, {:.0f} rows/s", rows, flags.out,
                    progress.Seconds(), static_cast<double>(rows) / progress.Seconds());
  terminal.out << (flags.json ? JsonOf(result, progress.Seconds()) : Table(result));
  return absl::OkStatus();
}

Status Check(CriteoFlags* flags) {
  SettleDataFlags(flags->source.data_flags, &flags->source.data);
  if (flags->options.test_share < 0 || flags->options.test_share >= 1) {
    return InvalidArgument("--test_share: {} is not in [0, 1)", flags->options.test_share);
  }
  if (flags->options.memory_bytes > 0 && flags->options.min_count < 2) {
    return InvalidArgument("--memory limits the counting for --min_count: give both or neither");
  }
  return absl::OkStatus();
}

void AddSplitFlags(CLI::App& command, CriteoFlags& flags) {
  CriteoPrepareOptions& options = flags.options;
  command
      .add_option("--out", flags.out,
                  "Directory for train/part-000000.., test/part-000000.. and statistics.json; it "
                  "must be empty or not exist")
      ->type_name("DIR")
      ->required();
  command
      .add_option("--test_share", options.test_share, "Fraction of the rows that become test rows")
      ->type_name("X")
      ->capture_default_str();
  AddOption(command, "--seed", options.seed,
            "Seed of the random split; with the position of a row it decides where the row goes",
            "N", WholeNumber(0));
  AddOption(command, "--part_rows", options.part_rows, "Rows per output file", "N", WholeNumber(1));
}

void AddRecipeFlags(CLI::App& command, CriteoFlags& flags) {
  CriteoPrepareOptions& options = flags.options;
  AddOption(command, "--buckets", flags.buckets,
            "log2: replace numbers x above 2 by floor(ln(x)^2); none: keep all numbers", "NAME",
            OneOf({"none", "log2"}));
  AddOption(command, "--min_count", options.min_count,
            "Replace categories that occur fewer than N times in their column of the training rows "
            "by the word 'rare', one id per column. Reads the input twice",
            "N", WholeNumber(0));
  command
      .add_option("--memory", options.memory_bytes,
                  "Memory limit for counting categories, such as 512MB or 2GB; counts that do not "
                  "fit become estimates, and the results say so (default: no limit, exact counts)")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false));
}

}  // namespace

void AddCriteoCommand(CLI::App& data, Action* action) {
  auto flags = std::make_shared<CriteoFlags>();
  CLI::App* command = data.add_subcommand("criteo",
                                          "Splits raw Criteo text into training and test rows. "
                                          "Writes the minimum and the 95th percentile of each "
                                          "number column of the training rows to "
                                          "DIR/statistics.json, which the format parameter "
                                          "statistics_file takes to scale the numbers.");
  AddPathsArgument(*command, &flags->source.paths, "Raw Criteo text");
  AddSplitFlags(*command, *flags);
  AddRecipeFlags(*command, *flags);
  command
      ->add_option("--pipe_command", flags->source.data.pipe_command,
                   "A shell command that turns each file (its standard input) into raw Criteo text")
      ->type_name("CMD");
  AddReachFlags(*command, &flags->source.data, &flags->source.data_flags, "Options");
  AddMaxBadRowsFlag(*command, &flags->source.data.max_bad_rows,
                    "Skip and count up to N rows that cannot be parsed; one more is an error");
  AddThreadsFlag(*command, &flags->source.threads,
                 "Threads that process rows; the files do not depend on it.");
  command->add_flag("--json", flags->json, "Print the results as one JSON object");
  SetAction(*command, action, flags, Check, Prepare);
}

}  // namespace flotilla
