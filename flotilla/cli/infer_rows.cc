#include "flotilla/cli/infer_rows.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "flotilla/base/text_file.h"
#include "flotilla/dataset/detect_format.h"
#include "flotilla/dataset/label_rule.h"

namespace flotilla {
namespace {

// "all columns" or "no wage_class", for a message that compares two files.
std::string LackText(const std::vector<std::string>& absent) {
  return absent.empty() ? "all columns" : fmt::format("no {}", fmt::join(absent, ", "));
}

bool HasKept(const Schema& schema) {
  return std::any_of(schema.columns.begin(), schema.columns.end(),
                     [](const Column& column) { return column.role == Column::Role::kKeep; });
}

// The classes of the label of CSV rows; whether it has classes at all, which two columns do not
// tell.
std::vector<std::string> ClassesOfSchema(const FittedSchema& fitted, bool* has_classes) {
  const std::vector<Column>& columns = fitted.schema().columns;
  size_t label = 0;
  std::vector<std::string> names;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].role != Column::Role::kLabel) continue;
    const LabelTask task = fitted.features().labels[label++].task;
    if (label > 1) return {};  // which of them is predicted is not known
    *has_classes = task == LabelTask::kClasses;
    for (const auto& spellings : columns[c].classes) names.push_back(spellings[0]);
    if (names.empty() && fitted.statistics() != nullptr) {
      names = fitted.statistics()->labels[c].classes;
    }
  }
  return names;
}

std::vector<std::string> ClassesOf(const ParserSpec& format, bool* has_classes) {
  if (format.format == "csv" || format.format == "tsv") {
    const StatusOr<FittedSchema> fitted = SchemaOfSpec(format);
    return fitted.ok() ? ClassesOfSchema(*fitted, has_classes) : std::vector<std::string>();
  }
  const auto labels = format.params.find("labels");
  if (labels == format.params.end()) return {};
  const StatusOr<LabelRule> rule = LabelRule::FromText(labels->second);
  return rule.ok() ? rule->ClassNames() : std::vector<std::string>();
}

}  // namespace

std::vector<std::string> ClassColumns(const Predictor& predictor) {
  const auto columns = static_cast<size_t>(predictor.columns());
  bool has_classes = false;
  std::vector<std::string> names = ClassesOf(predictor.format(), &has_classes);
  if (columns < 2 || (columns == 2 && !has_classes)) return {};
  if (names.size() == columns) return names;
  names.clear();
  for (size_t k = 0; k < columns; ++k) names.push_back(fmt::to_string(k));
  return names;
}

Status InferRows::CheckFormat(const Predictor& predictor) const {
  const ParserSpec& trained = predictor.format();
  if (trained.format.empty() && options_.data.format.format.empty()) {
    return InvalidArgument("the model does not store the format of its rows: give --format NAME");
  }
  if (options_.data.ignore_format) return absl::OkStatus();
  return CheckSameRows(trained, FormatOf(trained, predictor.inputs(), options_.data),
                       predictor.inputs());
}

Status InferRows::ReadHeaders() {
  if (headers_) return absl::OkStatus();
  std::vector<std::string> headers;
  const SourceOptions source = SourceOf(options_.data);
  for (const std::string& file : options_.files) {
    std::string& header = headers.emplace_back();
    // What is read from a pipe now is gone when the rows are read.
    if (!source.scheme_commands.contains(SchemeOf(file)) && !StampOf(file).ok()) continue;
    FL_ASSIGN_OR_RETURN(const std::vector<std::string> lines, FirstLines(file, 1, source));
    if (!lines.empty()) header = lines[0];
  }
  headers_ = std::move(headers);
  return absl::OkStatus();
}

StatusOr<std::vector<std::string>> InferRows::FindAbsent(const Schema& schema) {
  std::vector<std::string> absent;
  if (!schema.header) return absent;
  FL_RETURN_IF_ERROR(Annotate(ReadHeaders(), "--data"));
  const std::string* first = nullptr;
  for (size_t i = 0; i < headers_->size(); ++i) {
    const std::string& file = options_.files[i];
    if ((*headers_)[i].empty()) continue;
    StatusOr<std::vector<std::string>> lacks = AbsentInputs(schema, (*headers_)[i]);
    if (!lacks.ok()) return Annotate(lacks.status(), fmt::format("--data: {}:1", file));
    if (first == nullptr) {
      first = &file;
      absent = *std::move(lacks);
    } else if (*lacks != absent) {
      return InvalidArgument(
          "--data: {} has {}, {} has {}: score files with and without these columns separately",
          *first, LackText(absent), file, LackText(*lacks));
    }
  }
  return absent;
}

StatusOr<std::shared_ptr<const Parser>> InferRows::MakeRowParser(const Predictor& predictor,
                                                                 InferredRows* rows) {
  const std::span<const InputSpec> inputs = predictor.inputs();
  const ParserSpec format = FormatOf(predictor.format(), inputs, options_.data);
  if (format.format != "csv" && format.format != "tsv") {
    return MakeModelParser(predictor.format(), inputs, options_.data);
  }
  const StatusOr<FittedSchema> schema = SchemaOfSpec(format);
  if (!schema.ok()) return Annotate(schema.status(), "--format");
  FL_ASSIGN_OR_RETURN(const std::vector<std::string> absent, FindAbsent(schema->schema()));
  for (const InputSpec& input : inputs) {
    if (std::find(absent.begin(), absent.end(), input.name) != absent.end()) {
      rows->absent.push_back(input.name);
    }
  }
  if (options_.with_kept && HasKept(schema->schema())) {
    if (!options_.data.cache.empty()) {
      return InvalidArgument(
          "--cache does not hold the columns that are written beside the scores: leave it out");
    }
    rows->kept = std::make_shared<KeptTexts>();
  }
  StatusOr<std::unique_ptr<CsvParser>> parser =
      CsvParser::Make(inputs, *schema, {.absent = rows->absent, .kept = rows->kept});
  if (!parser.ok()) return Annotate(parser.status(), "--format");
  if (rows->kept != nullptr) rows->kept_columns = (*parser)->KeptNames();
  return std::shared_ptr<const Parser>(*std::move(parser));
}

Status InferRows::LeaveOut(const std::vector<std::string>& absent, Predictor* predictor,
                           Terminal& terminal) {
  if (absent.empty()) return absl::OkStatus();
  std::vector<int> indices;
  for (size_t i = 0; i < predictor->inputs().size(); ++i) {
    const bool lacks =
        std::find(absent.begin(), absent.end(), predictor->inputs()[i].name) != absent.end();
    if (lacks) indices.push_back(static_cast<int>(i));
  }
  if (!std::exchange(told_, true)) {
    terminal.log.info("--data: the rows have no {}: metrics that need it are left out",
                      fmt::join(absent, ", "));
  }
  return predictor->LeaveOut(indices);
}

StatusOr<InferredRows> InferRows::For(Predictor& predictor, Terminal& terminal) {
  FL_RETURN_IF_ERROR(Annotate(CheckFormat(predictor), predictor.dir()));
  InferredRows rows;
  FL_ASSIGN_OR_RETURN(std::shared_ptr<const Parser> parser, MakeRowParser(predictor, &rows));
  FL_RETURN_IF_ERROR(LeaveOut(rows.absent, &predictor, terminal));
  const std::vector<InputSpec> inputs(predictor.inputs().begin(), predictor.inputs().end());
  const bool open = opened_.dataset != nullptr && rows.kept == nullptr &&
                    identity_ == parser->identity() && inputs_ == inputs;
  if (!open) {
    opened_ = {};  // frees the memory of the previous dataset first
    identity_ = parser->identity();
    inputs_ = inputs;
    // A day without rows has no scores.
    const OpenDataOptions what{.flag = "--data",
                               .files = WholeFiles(options_.files),
                               .for_training = false,
                               .batch = {.batch_size = options_.batch_size, .allow_empty = true},
                               .threads = options_.threads};
    const LogLine log = [&terminal](std::string_view line) { terminal.log.info("{}", line); };
    FL_ASSIGN_OR_RETURN(opened_, OpenData(what, options_.data, parser, terminal.clock, log));
    parser_ = std::move(parser);
    rows.load_seconds = opened_.load_seconds;
  }
  rows.dataset = opened_.dataset.get();
  return rows;
}

}  // namespace flotilla
