#include "flotilla/run/look_at_rows.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "flotilla/dataset/prepare/infer_schema.h"
#include "flotilla/run/open_data.h"
#include "flotilla/run/task_progress.h"
#include "flotilla/schema/builtin_schemas.h"

namespace flotilla {
namespace {

constexpr int64_t kFirstLines = 100;

StatusOr<std::vector<std::string>> LinesOf(const std::string& file, const LookOptions& options) {
  SourceOptions source = SourceOf(*options.data);
  source.interrupt = options.interrupt;
  return FirstLines(file, kFirstLines, source);
}

}  // namespace

StatusOr<std::string> FileToLookAt(const std::vector<std::string>& files,
                                   const LookOptions& options) {
  if (files.size() == 1) return files[0];  // perhaps a pipe
  for (const std::string& file : files) {
    FL_ASSIGN_OR_RETURN(const std::vector<std::string> lines, LinesOf(file, options));
    const auto rows = std::count_if(lines.begin(), lines.end(),
                                    [](const std::string& line) { return !line.empty(); });
    if (rows >= 2) return file;
  }
  return files[0];
}

StatusOr<DetectedFormat> LookAtFormat(const std::string& file, const LookOptions& options) {
  FL_ASSIGN_OR_RETURN(const std::vector<std::string> lines, LinesOf(file, options));
  StatusOr<DetectedFormat> format = DetectFormat(lines);
  if (!format.ok()) return Annotate(format.status(), file);
  return format;
}

StatusOr<DetectedCsv> LookAtForm(const std::string& file, const LookOptions& options,
                                 Terminal& terminal) {
  FL_ASSIGN_OR_RETURN(const std::vector<std::string> lines, LinesOf(file, options));
  StatusOr<DetectedFormat> format = DetectFormat(lines);
  if (!format.ok()) return Annotate(format.status(), file);
  if (format->format == "criteo") format->format = "tsv";
  if (format->format != "csv" && format->format != "tsv") {
    return InvalidArgument(
        "{}: the rows are {} ({}), which needs no schema: an index is its own id; train with "
        "--format {}",
        file, format->format, format->reason, format->format);
  }
  StatusOr<DetectedCsv> form = DetectCsv(lines);
  if (!form.ok()) return Annotate(form.status(), file);
  terminal.log.info("{}: {} ({}), {}", file, format->format, format->reason,
                    form->form.header ? "the first line is the header" : "without a header");
  return form;
}

StatusOr<TableSummary> LookAtColumns(const std::vector<std::string>& files, const DetectedCsv& form,
                                     const LookOptions& options, Terminal& terminal) {
  TaskProgress progress(terminal, "rows");
  DescribeOptions describe{.threads = options.threads, .max_rows = options.max_rows};
  describe.reader.source = SourceOf(*options.data);
  describe.reader.source.interrupt = options.interrupt;
  describe.log = [&](std::string_view line) { terminal.log.warn("{}", line); };
  describe.on_progress = [&](const PassProgress& pass) {
    progress.Update(pass.lines, pass.fraction, "look");
  };
  FL_ASSIGN_OR_RETURN(TableSummary table, DescribeColumns(files, form, describe));
  if (table.bad_rows > 0) {
    terminal.log.warn("passed over {} of another form: {}{}",
                      table.bad_rows == 1 ? "a row" : fmt::format("{} rows", table.bad_rows),
                      fmt::join(table.bad, "; "),
                      table.bad_rows > static_cast<int64_t>(table.bad.size()) ? "; .." : "");
  }
  for (const ColumnSummary& column : table.columns) {
    if (column.decimal_commas == 0 || column.decimal_commas != column.words()) continue;
    terminal.log.warn(
        "column {}: {} of its {} values have decimal commas, as 12,50, and are taken for words: "
        "write them with a point, or separate the columns by semicolons",
        column.name, column.decimal_commas, column.count);
  }
  return table;
}

StatusOr<std::string> InferSchemaText(const std::vector<std::string>& files,
                                      const std::string& label, const LookOptions& options,
                                      Terminal& terminal, LabelChoice* choice) {
  FL_RETURN_IF_ERROR(CheckReadTwice(files));
  FL_ASSIGN_OR_RETURN(const std::string file, FileToLookAt(files, options));
  const StatusOr<DetectedFormat> format = LookAtFormat(file, options);
  std::string text;
  if (format.ok() && format->format == "criteo" && label.empty()) {
    terminal.log.info("{}: criteo ({})", file, format->reason);
    text = "# Raw Criteo rows: the built-in schema, --schema criteo.\n";
    text += BuiltinSchema("criteo");
  } else {
    FL_ASSIGN_OR_RETURN(const DetectedCsv form, LookAtForm(file, options, terminal));
    FL_ASSIGN_OR_RETURN(const TableSummary table, LookAtColumns(files, form, options, terminal));
    LabelChoice chosen;
    StatusOr<std::string> inferred = InferSchema(table, form, label, &chosen);
    if (!inferred.ok()) return Annotate(inferred.status(), file);
    if (!chosen.warning.empty()) terminal.log.warn("{}", chosen.warning);
    if (choice != nullptr) *choice = std::move(chosen);
    text = *std::move(inferred);
  }
  // What was written must be readable, whatever the columns are called.
  FL_RETURN_IF_ERROR(Schema::FromText(text).status());
  return text;
}

Status CheckReadTwice(const std::vector<std::string>& files) {
  if (std::find(files.begin(), files.end(), "-") == files.end()) return absl::OkStatus();
  return InvalidArgument("the rows are read twice, and standard input cannot be: give a file");
}

}  // namespace flotilla
