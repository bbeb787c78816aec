#include "flotilla/run/row_features.h"

#include <fmt/ranges.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "flotilla/base/json_value.h"
#include "flotilla/base/text_file.h"
#include "flotilla/checkpoint/reader.h"
#include "flotilla/dataset/parser_spec_io.h"
#include "flotilla/dataset/prepare/collect_statistics.h"
#include "flotilla/infer/find_model.h"
#include "flotilla/infer/model_sections.h"
#include "flotilla/run/look_at_rows.h"
#include "flotilla/run/open_data.h"
#include "flotilla/run/run_dir.h"
#include "flotilla/run/task_progress.h"
#include "flotilla/schema/builtin_schemas.h"

namespace flotilla {
namespace {

constexpr int64_t kLookRows = 2000000;
constexpr size_t kMaxRowsFile = size_t{4} << 30;
constexpr std::string_view kKinds[] = {"number", "id", "bag", "sequence"};
constexpr std::string_view kTasks[] = {"click", "regression", "classes"};

bool IsCsv(const std::string& format) { return format == "csv" || format == "tsv"; }

class Finder {
 public:
  Finder(const TrainOptions& options, bool fields, Terminal& terminal, const Interrupt* interrupt)
      : options_(options),
        data_(options.data),
        fields_(fields),
        terminal_(terminal),
        interrupt_(interrupt) {}

  StatusOr<DescribedRows> Find();

 private:
  bool in_job() const {
    return options_.fleet.role.is_trainer() || options_.fleet.role.is_server();
  }
  LookOptions look() const {
    return {.data = &data_,
            .threads = options_.threads,
            .max_rows = kLookRows,
            .interrupt = interrupt_};
  }
  // The format of the model that the run starts from; not set if there is none.
  StatusOr<std::optional<ParserSpec>> SavedFormat();
  // The format that the flags name, or that the first lines have. A csv format without a schema
  // means that it must be inferred.
  StatusOr<ParserSpec> ChooseFormat();
  StatusOr<DescribedRows> OfFormat(const ParserSpec& format);
  StatusOr<DescribedRows> OfSchema(const ParserSpec& format);
  StatusOr<DescribedRows> OfRows(const ParserSpec& format);
  // Applies --label and --task. Returns whether the schema has changed.
  StatusOr<bool> AdaptLabel(Schema* schema) const;
  // Refuses flags that say something else than the saved model does about its rows.
  Status CheckFlags(const ParserSpec& format, const Features& saved) const;
  // Logs what the labels are and why: a wrong one is learned as readily as the right one.
  void SayLabels(const FittedSchema& fitted) const;
  StatusOr<FittedSchema> Fit(const Schema& schema, const std::string& statistics_path);

  const TrainOptions& options_;
  const DataOptions& data_;
  const bool fields_;
  Terminal& terminal_;
  const Interrupt* const interrupt_;
  std::vector<std::string> files_;
  LabelChoice choice_;  // of an inferred schema
  bool saved_ = false;  // the format is that of a saved model
};

StatusOr<std::optional<ParserSpec>> Finder::SavedFormat() {
  const KeepOptions& keep = options_.keep;
  std::string dir;
  if (keep.resume && !keep.out.empty()) {
    // Opening the directory reports what is wrong with it.
    const auto resumed = FindResumed(keep.out, [](std::string_view) {});
    if (resumed.ok()) dir = *resumed;
  }
  if (dir.empty() && !keep.init_model.empty()) dir = FindModel(keep.init_model);
  if (dir.empty()) return std::optional<ParserSpec>();
  StatusOr<Manifest> manifest = ReadManifest(dir);
  // Loading it reports the error.
  if (!manifest.ok()) return std::optional<ParserSpec>();
  FL_ASSIGN_OR_RETURN(ParserSpec format, FormatFromSections(manifest->info.sections));
  if (format.format.empty()) return std::optional<ParserSpec>();
  return format;
}

StatusOr<ParserSpec> Finder::ChooseFormat() {
  ParserSpec format = data_.format;
  if (!data_.schema.empty()) {
    if (format.format.empty()) format.format = "csv";
    if (!IsCsv(format.format)) {
      return InvalidArgument(
          "--schema describes csv and tsv rows, and --format is {}: leave one out", format.format);
    }
    const bool builtin = !BuiltinSchema(data_.schema).empty();
    format.params[builtin ? "schema" : "schema_file"] = data_.schema;
    return format;
  }
  if (!format.format.empty()) return format;
  FL_RETURN_IF_ERROR(CheckReadTwice(files_));
  FL_ASSIGN_OR_RETURN(const std::string file, FileToLookAt(files_, look()));
  FL_ASSIGN_OR_RETURN(const DetectedFormat detected, LookAtFormat(file, look()));
  format.format = detected.format;
  if (IsCsv(format.format)) return format;  // logged when its columns are looked at
  terminal_.log.info("{}: {} ({}); --format overrides", file, detected.format, detected.reason);
  // The parameters that were given are those of the format's own parser.
  if (format.format == "criteo" && format.params.empty()) {
    terminal_.log.info("using the built-in schema criteo (--schema criteo)");
    return ParserSpec{.format = "csv", .params = {{"schema", "criteo"}}};
  }
  return format;
}

StatusOr<bool> Finder::AdaptLabel(Schema* schema) const {
  bool changed = false;
  bool found = false;
  std::vector<std::string> labels;
  for (Column& column : schema->columns) {
    if (column.role != Column::Role::kLabel) continue;
    labels.push_back(column.name);
    if (!data_.label.empty() && column.name != data_.label) {
      column.role = Column::Role::kIgnore;
      changed = true;
      continue;
    }
    found = true;
    if (data_.task && column.task != data_.task) {
      column.task = data_.task;
      changed = true;
    }
  }
  if (!data_.label.empty() && !found) {
    return InvalidArgument("--label {}: the label of the schema is {}; edit the schema",
                           data_.label,
                           labels.empty() ? "missing" : fmt::format("{}", fmt::join(labels, ", ")));
  }
  return changed;
}

void Finder::SayLabels(const FittedSchema& fitted) const {
  const std::vector<Column>& columns = fitted.schema().columns;
  for (size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].role != Column::Role::kLabel) continue;
    const std::string task = TaskText(fitted, c);
    const std::string_view reason = saved_                    ? "as in the saved model"
                                    : !choice_.reason.empty() ? std::string_view(choice_.reason)
                                    : !data_.label.empty()    ? "--label says so"
                                                              : "the schema says so";
    const std::string_view how = saved_ || !data_.label.empty() ? ""
                                 : data_.schema.empty()         ? "; --label changes it"
                                                                : "; edit the schema to change it";
    terminal_.log.info("label {} ({}): {}{}", columns[c].name, reason, task, how);
  }
}

StatusOr<FittedSchema> Finder::Fit(const Schema& schema, const std::string& statistics_path) {
  TaskProgress progress(terminal_, "rows");
  CollectOptions collect{.threads = options_.threads, .max_bad_rows = data_.max_bad_rows};
  collect.reader.source = SourceOf(data_);
  collect.reader.source.interrupt = interrupt_;
  collect.log = [this](std::string_view line) { terminal_.log.warn("{}", line); };
  collect.on_progress = [&](const PassProgress& pass) {
    progress.Update(pass.lines, pass.fraction, "count");
  };
  return FitSchema(schema, statistics_path, files_, collect);
}

StatusOr<DescribedRows> Finder::OfSchema(const ParserSpec& format) {
  // The model's own statistics, or those that were given.
  if (format.params.contains("statistics") || format.params.contains("statistics_file")) {
    FL_ASSIGN_OR_RETURN(const FittedSchema fitted, SchemaOfSpec(format));
    SayLabels(fitted);
    return DescribedRows{.format = SpecOf(fitted), .features = fitted.features()};
  }
  const auto file = format.params.find("schema_file");
  Schema schema;
  std::string statistics_path;
  if (file == format.params.end() && !format.params.contains("schema")) {
    FL_ASSIGN_OR_RETURN(const std::string text,
                        InferSchemaText(files_, data_.label, look(), terminal_, &choice_));
    FL_ASSIGN_OR_RETURN(schema, Schema::FromText(text));
    terminal_.log.info(
        "inferred a schema; to see and edit it: flotilla data schema {} --out FILE, then --schema "
        "FILE",
        files_[0]);
  } else {
    FL_ASSIGN_OR_RETURN(schema, SchemaTextOfSpec(format));
    if (file != format.params.end()) statistics_path = file->second + ".stats";
  }
  FL_ASSIGN_OR_RETURN(const bool changed, AdaptLabel(&schema));
  // The statistics beside a schema are those of the schema as it is written.
  if (changed) statistics_path.clear();
  std::error_code error;
  if (in_job()) {
    if (statistics_path.empty() || !std::filesystem::exists(statistics_path, error)) {
      return FailedPrecondition(
          "--schema: every process of a job needs the same statistics: collect them once with "
          "`flotilla data stats TRAINING_FILES --schema FILE`, which writes FILE.stats, and give "
          "--schema FILE to every process");
    }
    FL_ASSIGN_OR_RETURN(Statistics statistics, ReadStatistics(statistics_path));
    FL_ASSIGN_OR_RETURN(const FittedSchema fitted,
                        FittedSchema::Make(std::move(schema), std::move(statistics)));
    SayLabels(fitted);
    return DescribedRows{.format = SpecOf(fitted), .features = fitted.features()};
  }
  FL_RETURN_IF_ERROR(CheckReadTwice(files_));
  FL_ASSIGN_OR_RETURN(const FittedSchema fitted, Fit(schema, statistics_path));
  SayLabels(fitted);
  return DescribedRows{.format = SpecOf(fitted), .features = fitted.features()};
}

StatusOr<DescribedRows> Finder::OfRows(const ParserSpec& format) {
  if (!data_.label.empty()) {
    return InvalidArgument("--label: rows of the format {} have one label, which has no name",
                           format.format);
  }
  if (format.format != "criteo") FL_RETURN_IF_ERROR(CheckReadTwice(files_));
  TaskProgress progress(terminal_, "rows");
  DescribeRowsOptions describe{.threads = options_.threads,
                               .max_bad_rows = data_.max_bad_rows,
                               .task = data_.task,
                               .positions = fields_};
  describe.reader.source = SourceOf(data_);
  describe.reader.source.interrupt = interrupt_;
  describe.log = [this](std::string_view line) { terminal_.log.warn("{}", line); };
  describe.on_progress = [&](const PassProgress& pass) {
    progress.Update(pass.lines, pass.fraction, "look");
  };
  StatusOr<DescribedRows> rows = DescribeRows(format, files_, describe);
  if (!rows.ok()) return rows.status();
  for (const LabelFeature& label : rows->features.labels) {
    terminal_.log.info("label (the first number of a row): {}; --task changes it",
                       TaskText(label, "1"));
  }
  return rows;
}

Status Finder::CheckFlags(const ParserSpec& format, const Features& saved) const {
  constexpr std::string_view kRemedy = "leave the flag out, or train a new model";
  if (data_.task && !saved.labels.empty() && *data_.task != saved.labels[0].task) {
    return InvalidArgument("--task {}: the task of the saved model is {}: {}", NameOf(*data_.task),
                           NameOf(saved.labels[0].task), kRemedy);
  }
  if (data_.schema.empty() && data_.label.empty()) return absl::OkStatus();
  if (!IsCsv(format.format)) {
    return InvalidArgument("--schema: the saved model was trained on rows of the format {}: {}",
                           format.format, kRemedy);
  }
  FL_ASSIGN_OR_RETURN(Schema then, SchemaTextOfSpec(format));
  for (const Column& column : then.columns) {
    if (column.role != Column::Role::kLabel) continue;
    if (!data_.label.empty() && column.name != data_.label) {
      return InvalidArgument("--label {}: the saved model predicts {}: {}", data_.label,
                             column.name, kRemedy);
    }
  }
  if (data_.schema.empty()) return absl::OkStatus();
  FL_ASSIGN_OR_RETURN(Schema now, LoadSchema(data_.schema));
  FL_RETURN_IF_ERROR(AdaptLabel(&now).status());
  // The task has been compared, whichever flag or schema it came from.
  for (Schema* const schema : {&then, &now}) {
    for (Column& column : schema->columns) column.task.reset();
  }
  if (now.ToJson() == then.ToJson()) return absl::OkStatus();
  return InvalidArgument("--schema {}: the saved model has another schema: {}", data_.schema,
                         kRemedy);
}

StatusOr<DescribedRows> Finder::Find() {
  if (!data_.rows.empty()) {
    FL_ASSIGN_OR_RETURN(const std::string text, ReadWholeFile(data_.rows, kMaxRowsFile));
    StatusOr<DescribedRows> rows = RowsFromText(text);
    if (!rows.ok()) return Annotate(rows.status(), "--rows " + data_.rows);
    return rows;
  }
  std::optional<ParserSpec> format;
  if (!in_job()) {
    FL_ASSIGN_OR_RETURN(format, SavedFormat());
  }
  // A program whose rows have a schema and its statistics has no files.
  if (!data_.train.empty() || !data_.format.params.contains("statistics_file")) {
    FL_ASSIGN_OR_RETURN(files_, FindFiles("--data", data_.train, data_));
  }
  saved_ = format.has_value();
  if (!saved_) {
    FL_ASSIGN_OR_RETURN(format, ChooseFormat());
    FL_RETURN_IF_ERROR(CheckFormat(*format));
  } else {
    terminal_.log.info("rows are read as the saved model's were ({})", format->format);
  }
  FL_ASSIGN_OR_RETURN(DescribedRows rows, OfFormat(*format));
  if (saved_) FL_RETURN_IF_ERROR(CheckFlags(*format, rows.features));
  return rows;
}

StatusOr<DescribedRows> Finder::OfFormat(const ParserSpec& format) {
  if (IsCsv(format.format)) return OfSchema(format);
  if (format.format == "libsvm" || format.format == "libffm" || format.format == "criteo") {
    return OfRows(format);
  }
  return InvalidArgument(
      "{}: rows of the format {} do not say what they hold, and this model takes its inputs from "
      "the data: use csv, tsv, libsvm, libffm or criteo rows, or a program with its own inputs "
      "(examples/custom_model)",
      files_[0], format.format);
}

nlohmann::json ToJson(const Feature& feature) {
  return {{"input", feature.input},          {"kind", kKinds[static_cast<size_t>(feature.kind)]},
          {"width", feature.width},          {"weighted", feature.weighted},
          {"length", feature.length},        {"mean_ids", feature.mean_ids},
          {"vocabulary", feature.vocabulary}};
}

nlohmann::json ToJson(const LabelFeature& label) {
  return {{"input", label.input},
          {"task", NameOf(label.task)},
          {"classes", label.classes},
          {"mean", label.mean},
          {"deviation", label.deviation}};
}

Feature FeatureOf(const JsonValue& json) {
  return {.input = json["input"].Text(),
          .kind = static_cast<Feature::Kind>(json["kind"].OneOf(kKinds)),
          .width = json["width"].Whole(1),
          .weighted = json["weighted"].Flag(),
          .length = json["length"].Whole(),
          .mean_ids = json["mean_ids"].Number(),
          .vocabulary = json["vocabulary"].Text()};
}

LabelFeature LabelOf(const JsonValue& json) {
  return {.input = json["input"].Text(),
          .task = static_cast<LabelTask>(json["task"].OneOf(kTasks)),
          .classes = json["classes"].Whole(),
          .mean = json["mean"].Number(),
          .deviation = json["deviation"].Number()};
}

}  // namespace

StatusOr<DescribedRows> FindRowFeatures(const TrainOptions& options, bool fields,
                                        Terminal& terminal, const Interrupt* interrupt) {
  return Finder(options, fields, terminal, interrupt).Find();
}

StatusOr<std::string> RowsToText(const DescribedRows& rows) {
  FL_ASSIGN_OR_RETURN(const std::string format, ParserSpecToJson(rows.format));
  nlohmann::json json = {{"format", format},
                         {"features", nlohmann::json::array()},
                         {"labels", nlohmann::json::array()},
                         {"weight", rows.features.weight},
                         {"group", rows.features.group},
                         {"id_rows", rows.features.id_rows},
                         {"rows", rows.features.rows}};
  for (const Feature& feature : rows.features.features) json["features"].push_back(ToJson(feature));
  for (const LabelFeature& label : rows.features.labels) json["labels"].push_back(ToJson(label));
  return DumpJson(json);
}

StatusOr<DescribedRows> RowsFromText(std::string_view text) {
  FL_ASSIGN_OR_RETURN(const nlohmann::json parsed, ParseJson(text));
  Status status;
  const JsonValue json(parsed, &status);
  DescribedRows rows;
  const std::string format = json["format"].Text();
  rows.features.features = json["features"].Each(FeatureOf);
  rows.features.labels = json["labels"].Each(LabelOf);
  rows.features.weight = json["weight"].Text();
  rows.features.group = json["group"].Text();
  rows.features.id_rows = json["id_rows"].Whole();
  rows.features.rows = json["rows"].Whole();
  FL_RETURN_IF_ERROR(status);
  FL_ASSIGN_OR_RETURN(rows.format, ParserSpecFromJson(format));
  return rows;
}

}  // namespace flotilla
