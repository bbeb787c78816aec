#include "flotilla/dataset/csv_parser.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "flotilla/dataset/csv_cells.h"
#include "flotilla/schema/schema_words.h"

namespace flotilla {
namespace {

using Role = Column::Role;

std::vector<bool> NeededSources(const Encoder& encoder) {
  std::vector<bool> needed;
  for (int source = 0; source < encoder.schema().SourceCount(); ++source) {
    needed.push_back(encoder.reads(source));
  }
  // A headerless file has them in their places, whether they are needed or not.
  if (encoder.schema().header) return needed;
  const std::vector<int> sources = encoder.schema().Sources();
  for (size_t c = 0; c < sources.size(); ++c) {
    if (encoder.schema().columns[c].role == Role::kKeep) needed[sources[c]] = true;
  }
  return needed;
}

}  // namespace

StatusOr<std::unique_ptr<CsvParser>> CsvParser::Make(std::span<const InputSpec> inputs,
                                                     const FittedSchema& schema,
                                                     const CsvOptions& options) {
  StatusOr<std::unique_ptr<Encoder>> encoder = Encoder::Make(schema, inputs, options.absent);
  if (!encoder.ok()) return Annotate(encoder.status(), "csv");
  return std::unique_ptr<CsvParser>(new CsvParser(*std::move(encoder), options));
}

StatusOr<std::unique_ptr<CsvParser>> CsvParser::Make(std::span<const InputSpec> inputs,
                                                     const Schema& schema) {
  StatusOr<FittedSchema> fitted = FittedSchema::Make(schema, std::nullopt);
  if (!fitted.ok()) return Annotate(fitted.status(), "csv");
  return Make(inputs, *fitted);
}

CsvParser::CsvParser(std::unique_ptr<Encoder> encoder, const CsvOptions& options)
    : encoder_(std::move(encoder)),
      options_(options),
      schema_(encoder_->schema()),
      fields_(schema_, NeededSources(*encoder_)),
      inputs_(encoder_->inputs().begin(), encoder_->inputs().end()) {
  if (options_.kept == nullptr) return;
  inputs_.push_back({"kept", InputKind::kIds, 1});
  const std::vector<int> sources = schema_.Sources();
  for (size_t c = 0; c < sources.size(); ++c) {
    if (schema_.columns[c].role == Role::kKeep) kept_sources_.push_back(sources[c]);
  }
}

std::string CsvParser::identity() const {
  std::string identity = encoder_->fitted().identity();
  if (!options_.absent.empty()) {
    identity += fmt::format(" absent={}", fmt::join(options_.absent, ","));
  }
  return options_.kept == nullptr ? identity : identity + " kept";
}

Status CsvParser::Parse(std::string_view line, Batch* batch) const {
  if (fields_.IsBlank(line)) return absl::OkStatus();
  thread_local CsvRow row;
  FL_RETURN_IF_ERROR(fields_.Split(line, &row));
  CellPlace place;
  const Status status = encoder_->Encode(row.sources(), batch, &place);
  if (!status.ok()) {
    return BadRow(row.begin(place.source) + place.offset + 1, "{}", Message(status));
  }
  if (options_.kept != nullptr) {
    batch->fields.back().ids.ids.push_back(options_.kept->Add(KeptText(row)));
  }
  return absl::OkStatus();
}

std::string CsvParser::KeptText(const CsvRow& row) const {
  std::string text;
  for (size_t k = 0; k < kept_sources_.size(); ++k) {
    if (k > 0) text += '\t';
    const size_t begin = text.size();
    text += row.sources()[kept_sources_[k]];
    std::replace(text.begin() + static_cast<ptrdiff_t>(begin), text.end(), '\t', ' ');
  }
  return text;
}

std::string CsvParser::TakeNote() const {
  std::string note = fields_.TakeNote();
  if (!note.empty()) return note;
  const int64_t cut = encoder_->TakeCutSequences();
  if (cut == 0) return {};
  return fmt::format("{} sequence{} longer than the length in the schema: the newest ids are kept",
                     cut, cut == 1 ? " was" : "s were");
}

std::vector<std::string> CsvParser::KeptNames() const {
  std::vector<std::string> names;
  for (const Column& column : schema_.columns) {
    if (column.role == Role::kKeep) names.push_back(column.name);
  }
  return names;
}

StatusOr<std::vector<std::string>> AbsentInputs(const Schema& schema, std::string_view header) {
  std::vector<std::string> absent;
  if (!schema.header) return absent;
  CsvCells cells;
  FL_RETURN_IF_ERROR(cells.Split(header, CsvForm(schema), kMaxSchemaColumns));
  for (const Column& column : schema.columns) {
    if (column.role != Role::kLabel && column.role != Role::kWeight && column.role != Role::kGroup)
      continue;
    const auto texts = cells.texts();
    if (std::find(texts.begin(), texts.end(), column.name) == texts.end()) {
      absent.push_back(column.input_name());
    }
  }
  return absent;
}

}  // namespace flotilla
