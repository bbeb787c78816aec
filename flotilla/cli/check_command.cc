#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "flotilla/cli/builtin_models.h"
#include "flotilla/cli/commands.h"
#include "flotilla/cli/source_flags.h"
#include "flotilla/dataset/input_text.h"
#include "flotilla/dataset/make_parser.h"
#include "flotilla/dataset/prepare/check_rows.h"
#include "flotilla/dataset/prepare/collect_statistics.h"
#include "flotilla/fleet/data_flags.h"
#include "flotilla/run/look_at_rows.h"
#include "flotilla/run/open_data.h"
#include "flotilla/run/task_progress.h"
#include "flotilla/schema/builtin_schemas.h"

namespace flotilla {
namespace {

struct CheckFlags {
  std::vector<std::string> paths;
  DataOptions data;
  DataFlags data_flags;
  int threads = 1;
  std::string model;
  std::string inputs;
  std::string schema;
  bool json = false;
  std::shared_ptr<const Parser> parser;  // made by Check
};

constexpr char kCheckExamples[] = R"(
Examples:
  flotilla data check train/ --format criteo
  flotilla data check test/ --model ctr_dnn --numeric log
  ./generator < log.txt | flotilla data check - --format multislot --model ctr_dnn
  flotilla data check log.txt --pipe_command ./generator --format multislot \
      --inputs "user:id words:ids price:dense:1 click:label"
  flotilla data check adult.data --schema adult.schema

A bad row is reported as FILE:LINE:COLUMN: what was expected, what was found. With a pipe command,
LINE is a line of its output. The exit code is 1 if there is a bad row.

Parameters of each format, for --format_param (defaults in parentheses):
)";

std::string FormatParamsHelp() {
  std::string text;
  for (const ParserFormat& format : ParserFormats()) {
    text += fmt::format("  {}: {}\n", format.name, format.help);
    for (const ParserFormat::Param& param : format.params) {
      text += fmt::format("    {:<16}{}", param.name, param.help);
      if (!param.otherwise.empty()) text += fmt::format(" ({})", param.otherwise);
      text += "\n";
    }
  }
  return text;
}

// The parser that the flags ask for. The inputs are those of --model, those of --inputs, or those
// that the format itself defines.
StatusOr<std::shared_ptr<const Parser>> ParserOf(const CheckFlags& flags) {
  if (!flags.model.empty()) {
    FL_ASSIGN_OR_RETURN(const Model model, MakeBuiltinModel(flags.model, Config()));
    return MakeModelParser(model, flags.data);
  }
  if (!flags.inputs.empty()) {
    const StatusOr<InputText> text = InputsFromText(flags.inputs);
    if (!text.ok()) return Annotate(text.status(), "--inputs");
    DataOptions data = flags.data;
    if (FormatOf({}, text->inputs, data).format == "multislot" && !text->single.empty()) {
      data.format.params.try_emplace("single", fmt::format("{}", fmt::join(text->single, ",")));
    }
    return MakeModelParser({}, text->inputs, data);
  }
  if (flags.data.format.format.empty()) {
    return InvalidArgument(
        "the inputs of the rows are not known: give --model, --inputs or --format");
  }
  const StatusOr<std::vector<InputSpec>> inputs = InputsOfFormat(flags.data.format);
  if (!inputs.ok()) {
    return InvalidArgument("{}: give --model or --inputs", Message(inputs.status()));
  }
  return MakeModelParser({}, *inputs, flags.data);
}

Status Check(CheckFlags* flags) {
  if (!flags->model.empty() && !flags->inputs.empty()) {
    return InvalidArgument("--model and --inputs both define the inputs: give one of them");
  }
  SettleDataFlags(flags->data_flags, &flags->data);
  if (!flags->schema.empty()) {
    const std::string& format = flags->data.format.format;
    if (!format.empty() && format != "csv" && format != "tsv") {
      return InvalidArgument(
          "--schema describes csv and tsv rows, and --format is {}: leave one out", format);
    }
    if (!flags->model.empty() || !flags->inputs.empty()) {
      return InvalidArgument("--schema defines the inputs: leave out --model and --inputs");
    }
    // Its statistics may have to be collected.
    return absl::OkStatus();
  }
  FL_ASSIGN_OR_RETURN(flags->parser, ParserOf(*flags));
  return absl::OkStatus();
}

std::string Table(const CheckReport& report, const Parser& parser, double seconds) {
  const double rows = static_cast<double>(report.rows);
  std::string text = fmt::format(
      "{:<14}{:>12}\n{:<14}{:>12}\n{:<14}{:>12.0f}\n", "rows", report.rows, "bad rows",
      fmt::format("{}{}", report.bad.size(), report.complete ? "" : "+"), "rows/s", rows / seconds);
  bool headed = false;
  for (size_t i = 0; i < report.ids.size(); ++i) {
    if (parser.inputs()[i].kind != InputKind::kIds || report.rows == 0) continue;
    if (!headed) {
      text += fmt::format("\n{:<20}{:>12}{:>12}{:>10}{:>14}\n", "input", "ids", "per row", "most",
                          "rows without");
    }
    headed = true;
    const CheckReport::Ids& ids = report.ids[i];
    text += fmt::format("{:<20}{:>12}{:>12.2f}{:>10}{:>14}\n", parser.inputs()[i].name, ids.all,
                        static_cast<double>(ids.all) / rows, ids.most, ids.empty);
  }
  return text;
}

std::string JsonOf(const CheckReport& report, const Parser& parser, double seconds) {
  nlohmann::ordered_json inputs = nlohmann::ordered_json::object();
  for (size_t i = 0; i < report.ids.size(); ++i) {
    if (parser.inputs()[i].kind != InputKind::kIds) continue;
    const CheckReport::Ids& ids = report.ids[i];
    inputs[parser.inputs()[i].name] = {{"ids", ids.all}, {"most", ids.most}, {"empty", ids.empty}};
  }
  const nlohmann::ordered_json json = {
      {"lines", report.lines},
      {"rows", report.rows},
      {"bad_rows", report.bad.size()},
      {"complete", report.complete},
      {"samples", report.bad},
      {"inputs", inputs},
      {"seconds", seconds},
      {"rows_per_second", static_cast<double>(report.rows) / seconds}};
  return json.dump() + "\n";
}

// The schema with the statistics beside it, or with those of the files that are checked: bad rows
// are left out of them and reported by the check.
StatusOr<FittedSchema> FittedFor(const Schema& schema, const CheckFlags& flags,
                                 const std::vector<std::string>& files) {
  if (!schema.NeedsStatistics()) return FittedSchema::Make(schema, std::nullopt);
  const std::string path = flags.schema + ".stats";
  if (std::filesystem::exists(path)) {
    FL_ASSIGN_OR_RETURN(Statistics statistics, ReadStatistics(path));
    if (CheckFits(statistics, schema).ok()) {
      return FittedSchema::Make(schema, std::move(statistics));
    }
  }
  FL_RETURN_IF_ERROR(CheckReadTwice(files));
  CollectOptions collect{.threads = flags.threads,
                         .max_bad_rows = std::numeric_limits<int64_t>::max()};
  collect.reader.source = SourceOf(flags.data);
  FL_ASSIGN_OR_RETURN(Statistics statistics, CollectStatistics(files, schema, collect));
  return FittedSchema::Make(schema, std::move(statistics));
}

StatusOr<std::shared_ptr<const Parser>> SchemaParser(const CheckFlags& flags,
                                                     const std::vector<std::string>& files) {
  ParserSpec format = flags.data.format;
  if (format.format.empty()) format.format = "csv";
  format.params[BuiltinSchema(flags.schema).empty() ? "schema_file" : "schema"] = flags.schema;
  StatusOr<Schema> schema = SchemaTextOfSpec(format);
  if (!schema.ok()) return Annotate(schema.status(), "--schema");
  FL_ASSIGN_OR_RETURN(const FittedSchema fitted, FittedFor(*schema, flags, files));
  DataOptions data = flags.data;
  data.format = SpecOf(fitted);
  FL_ASSIGN_OR_RETURN(const std::vector<InputSpec> inputs, InputsOfFormat(data.format));
  return MakeModelParser({}, inputs, data);
}

Status Run(const CheckFlags& flags, Terminal& terminal) {
  FL_ASSIGN_OR_RETURN(const std::vector<std::string> files,
                      FindFiles("PATH", flags.paths, flags.data));
  std::shared_ptr<const Parser> parser = flags.parser;
  if (parser == nullptr) {
    FL_ASSIGN_OR_RETURN(parser, SchemaParser(flags, files));
  }
  TaskProgress progress(terminal, "rows");
  CheckRowsOptions options{.max_bad_rows = flags.data.max_bad_rows, .threads = flags.threads};
  options.reader.source = SourceOf(flags.data);
  options.log = [&](std::string_view line) { terminal.log.warn("{}", line); };
  options.on_progress = [&](const PassProgress& pass) {
    progress.Update(pass.lines, pass.fraction, "check");
  };
  FL_ASSIGN_OR_RETURN(const CheckReport report, CheckRows(files, *parser, options));
  const double seconds = progress.Seconds();
  terminal.out << (flags.json ? JsonOf(report, *parser, seconds) : Table(report, *parser, seconds));
  if (report.bad.empty()) return absl::OkStatus();
  if (report.bad.size() == 1) return InvalidArgument("{}", report.bad[0]);
  return InvalidArgument("{} bad rows{}:\n  {}", report.bad.size(),
                         report.complete ? "" : ", more than --max_bad_rows: the check ended there",
                         fmt::join(report.bad, "\n  "));
}

void AddInputFlags(CLI::App& command, CheckFlags& flags) {
  command.add_option("--model", flags.model, "The built-in model that the rows are for")
      ->type_name("NAME");
  command
      .add_option("--inputs", flags.inputs,
                  "The inputs, in the order of the model, instead of --model: NAME:dense:WIDTH, "
                  "NAME:ids (any number of ids), NAME:id (exactly one) or NAME:label; C1..C26:id "
                  "stands for 26 inputs (default: those that the format itself defines, for "
                  "criteo, csv and tsv)")
      ->type_name("SPEC");
  command
      .add_option("--schema", flags.schema,
                  "What the columns of csv and tsv rows mean (`flotilla data schema`), or the name "
                  "of a built-in schema (criteo); FILE.stats has its statistics, without it they "
                  "are collected from the rows first")
      ->type_name("FILE");
}

}  // namespace

void AddCheckCommand(CLI::App& data, Action* action) {
  auto flags = std::make_shared<CheckFlags>();
  CLI::App* command = data.add_subcommand(
      "check", "Parses rows as a model would and reports the line and column of the first bad one");
  AddPathsArgument(*command, &flags->paths, "Rows");
  AddInputFlags(*command, *flags);
  AddMaxBadRowsFlag(*command, &flags->data.max_bad_rows,
                    "Continue after bad rows and list up to N of them; one more ends the check");
  AddThreadsFlag(*command, &flags->threads,
                 "Threads that parse rows; results do not depend on it.");
  command->add_flag("--json", flags->json, "Print the results as one JSON object");
  AddFormatFlags(*command, &flags->data, &flags->data_flags);
  command->footer(kCheckExamples + FormatParamsHelp());
  SetAction(*command, action, flags, Check, Run);
}

}  // namespace flotilla
