#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "flotilla/base/output_file.h"
#include "flotilla/base/utf8.h"
#include "flotilla/cli/commands.h"
#include "flotilla/cli/source_flags.h"
#include "flotilla/dataset/detect_format.h"
#include "flotilla/dataset/prepare/collect_statistics.h"
#include "flotilla/dataset/prepare/describe_columns.h"
#include "flotilla/dataset/prepare/infer_schema.h"
#include "flotilla/fleet/flags.h"
#include "flotilla/run/look_at_rows.h"
#include "flotilla/run/open_data.h"
#include "flotilla/run/task_progress.h"

namespace flotilla {
namespace {

constexpr size_t kTopValues = 4;

struct SchemaFlags {
  SourceFlags source;
  std::string label;
  std::string out;
  bool overwrite = false;
  int64_t rows = 2000000;
};

struct StatsFlags {
  SourceFlags source;
  std::string schema;
  bool json = false;
};

LookOptions LookOf(const SourceFlags& source, int64_t max_rows = 0) {
  return {.data = &source.data, .threads = source.threads, .max_rows = max_rows};
}

StatusOr<std::vector<std::string>> FilesOf(const SourceFlags& source) {
  FL_ASSIGN_OR_RETURN(std::vector<std::string> files, FindFiles("PATH", source.paths, source.data));
  FL_RETURN_IF_ERROR(CheckReadTwice(files));
  return files;
}

// A schema is a file that its user edits.
Status CheckOut(const SchemaFlags& flags, const std::vector<std::string>& files) {
  if (flags.out.empty()) return absl::OkStatus();
  FL_RETURN_IF_ERROR(CheckNotRead("--out", flags.out, files));
  if (flags.overwrite || !std::filesystem::exists(flags.out)) return absl::OkStatus();
  return InvalidArgument("--out {}: the file exists; add --overwrite to replace it", flags.out);
}

Status RunSchema(const SchemaFlags& flags, Terminal& terminal) {
  FL_ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesOf(flags.source));
  FL_RETURN_IF_ERROR(CheckOut(flags, files));
  FL_ASSIGN_OR_RETURN(
      const std::string text,
      InferSchemaText(files, flags.label, LookOf(flags.source, flags.rows), terminal));
  if (flags.out.empty()) {
    terminal.out << text;
    return absl::OkStatus();
  }
  FL_RETURN_IF_ERROR(WriteFile(flags.out, text));
  terminal.log.info("wrote {}", flags.out);
  return absl::OkStatus();
}

std::string Table(const TableSummary& table) {
  std::string text = fmt::format("{:<14}{:>12}\n\n{:<20}{:<15}{:>10}{:>10}{:>14}{:>14}{:>14}  {}\n",
                                 "rows", table.rows, "column", "type", "distinct", "missing", "min",
                                 "max", "mean", "top values");
  for (const ColumnSummary& column : table.columns) {
    const bool numbers = column.whole + column.fractions > 0 && column.words() == 0;
    auto figure = [&](double number) {
      return numbers ? fmt::format("{:.6g}", number) : std::string();
    };
    std::vector<std::string> top;
    for (const auto& [value, count] : column.top) {
      if (top.size() == kTopValues) break;
      top.push_back(fmt::format("{} ({})", ShownUtf8(value, 20), count));
    }
    text += fmt::format("{:<20}{:<15}{:>10}{:>10}{:>14}{:>14}{:>14}  {}\n",
                        ShownUtf8(column.name, 19), TypeOf(column),
                        fmt::format("{}{}", column.at_least ? ">" : "", column.distinct),
                        column.missing, figure(column.min), figure(column.max), figure(column.mean),
                        fmt::join(top, ", "));
  }
  return text;
}

std::string JsonOf(const TableSummary& table) {
  nlohmann::ordered_json columns = nlohmann::ordered_json::array();
  for (const ColumnSummary& column : table.columns) {
    nlohmann::ordered_json top = nlohmann::ordered_json::array();
    for (size_t i = 0; i < std::min(kTopValues, column.top.size()); ++i) {
      top.push_back({{"value", column.top[i].first}, {"count", column.top[i].second}});
    }
    columns.push_back({{"name", column.name},
                       {"type", TypeOf(column)},
                       {"count", column.count},
                       {"missing", column.missing},
                       {"distinct", column.distinct},
                       {"distinct_exact", !column.at_least},
                       {"min", column.min},
                       {"max", column.max},
                       {"mean", column.mean},
                       {"top", top}});
  }
  const nlohmann::ordered_json json = {
      {"rows", table.rows}, {"bad_rows", table.bad_rows}, {"columns", columns}};
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Status CollectFor(const StatsFlags& flags, const Schema& schema,
                  const std::vector<std::string>& files, Terminal& terminal) {
  TaskProgress progress(terminal, "rows");
  CollectOptions options{.threads = flags.source.threads,
                         .max_bad_rows = flags.source.data.max_bad_rows};
  options.reader.source = SourceOf(flags.source.data);
  options.log = [&](std::string_view line) { terminal.log.warn("{}", line); };
  options.on_progress = [&](const PassProgress& pass) {
    progress.Update(pass.lines, pass.fraction, "count");
  };
  FL_ASSIGN_OR_RETURN(const Statistics statistics, CollectStatistics(files, schema, options));
  const std::string path = flags.schema + ".stats";
  // A built-in schema has no file that they could stand beside; a run counts them itself.
  const bool written = std::filesystem::exists(flags.schema);
  if (written) FL_RETURN_IF_ERROR(WriteStatistics(path, statistics));
  FL_ASSIGN_OR_RETURN(const FittedSchema fitted, FittedSchema::Make(schema, statistics));
  const Features& features = fitted.features();
  terminal.log.info(
      "{}: {} rows, {} features, {}", written ? "wrote " + path : "--schema " + flags.schema,
      statistics.rows, features.features.size(),
      features.id_rows > 0 ? fmt::format("{} ids", features.id_rows) : std::string("64-bit ids"));
  for (const LabelFeature& label : features.labels) {
    terminal.log.info("label {}: {}{}", label.input, NameOf(label.task),
                      label.task == LabelTask::kClasses ? fmt::format(", {} classes", label.classes)
                                                        : fmt::format(", mean {:.6g}", label.mean));
  }
  return absl::OkStatus();
}

Status RunStats(const StatsFlags& flags, Terminal& terminal) {
  FL_ASSIGN_OR_RETURN(const std::vector<std::string> files, FilesOf(flags.source));
  StatusOr<DetectedCsv> form = DetectedCsv();
  if (flags.schema.empty()) {
    FL_ASSIGN_OR_RETURN(const std::string file, FileToLookAt(files, LookOf(flags.source)));
    form = LookAtForm(file, LookOf(flags.source), terminal);
  } else {
    FL_ASSIGN_OR_RETURN(const Schema schema, LoadSchema(flags.schema));
    FL_RETURN_IF_ERROR(CollectFor(flags, schema, files, terminal));
    form->form = schema;
    form->form.columns.clear();
    const std::vector<std::string> names = schema.SourceNames();
    for (size_t c = 0; c < names.size(); ++c) {
      // Columns without a name can only be found by their places.
      if (!names[c].empty()) {
        form->names.push_back(names[c]);
      } else if (!schema.header) {
        form->names.push_back(fmt::format("C{}", c + 1));
      }
    }
  }
  FL_RETURN_IF_ERROR(form.status());
  FL_ASSIGN_OR_RETURN(const TableSummary table,
                      LookAtColumns(files, *form, LookOf(flags.source), terminal));
  terminal.out << (flags.json ? JsonOf(table) : Table(table));
  return absl::OkStatus();
}

void AddReachOf(CLI::App& command, SourceFlags& source) {
  AddReachFlags(command, &source.data, &source.data_flags, "Options");
  AddThreadsFlag(command, &source.threads, "Threads; the results do not depend on it.");
}

template <typename Flags>
Status Settle(Flags* flags) {
  SettleDataFlags(flags->source.data_flags, &flags->source.data);
  return absl::OkStatus();
}

}  // namespace

void AddSchemaCommand(CLI::App& data, Action* action) {
  auto flags = std::make_shared<SchemaFlags>();
  CLI::App* command =
      data.add_subcommand("schema",
                          "Looks at CSV or TSV files (header, delimiter, types, distinct and "
                          "missing values) and writes "
                          "their schema, with comments of what it saw; edit it where it is wrong");
  AddPathsArgument(*command, &flags->source.paths, "Rows");
  command
      ->add_option("--label", flags->label,
                   "The column of the label (default: the one whose name says so, else the last or "
                   "the first that has two values)")
      ->type_name("COLUMN");
  command->add_option("--out", flags->out, "File for the schema (default: standard output)")
      ->type_name("FILE");
  command->add_flag("--overwrite", flags->overwrite, "Replace an existing file of --out");
  command->add_option("--rows", flags->rows, "Look at about the first N rows (0: all)")
      ->type_name("N")
      ->check(WholeNumber(0))
      ->capture_default_str();
  AddReachOf(*command, flags->source);
  SetAction(*command, action, flags, Settle<SchemaFlags>, RunSchema);
}

void AddStatsCommand(CLI::App& data, Action* action) {
  auto flags = std::make_shared<StatsFlags>();
  CLI::App* command = data.add_subcommand(
      "stats",
      "Prints the columns of CSV or TSV files: type, distinct and missing values, range, mean, "
      "most "
      "frequent values. With --schema also collects the statistics that the schema needs");
  AddPathsArgument(*command, &flags->source.paths, "Rows");
  command
      ->add_option("--schema", flags->schema,
                   "Schema of the files, or the name of a built-in one (criteo): collects its "
                   "vocabularies, borders and means and writes them to FILE.stats")
      ->type_name("FILE");
  AddMaxBadRowsFlag(*command, &flags->source.data.max_bad_rows,
                    "With --schema: skip up to N rows that cannot be parsed; one more is an error");
  command->add_flag("--json", flags->json, "Print the results as one JSON object");
  AddReachOf(*command, flags->source);
  SetAction(*command, action, flags, Settle<StatsFlags>, RunStats);
}

}  // namespace flotilla
