#include "flotilla/dataset/csv_parser.h"

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
                                                     const FittedSchema& schema) {
  StatusOr<std::unique_ptr<Encoder>> encoder = Encoder::Make(schema, inputs);
  if (!encoder.ok()) return Annotate(encoder.status(), "csv");
  return std::unique_ptr<CsvParser>(new CsvParser(*std::move(encoder)));
}

StatusOr<std::unique_ptr<CsvParser>> CsvParser::Make(std::span<const InputSpec> inputs,
                                                     const Schema& schema) {
  StatusOr<FittedSchema> fitted = FittedSchema::Make(schema, std::nullopt);
  if (!fitted.ok()) return Annotate(fitted.status(), "csv");
  return Make(inputs, *fitted);
}

CsvParser::CsvParser(std::unique_ptr<Encoder> encoder)
    : encoder_(std::move(encoder)),
      schema_(encoder_->schema()),
      fields_(schema_, NeededSources(*encoder_)) {}

Status CsvParser::Parse(std::string_view line, Batch* batch) const {
  if (fields_.IsBlank(line)) return absl::OkStatus();
  thread_local CsvRow row;
  FL_RETURN_IF_ERROR(fields_.Split(line, &row));
  CellPlace place;
  const Status status = encoder_->Encode(row.sources(), batch, &place);
  if (status.ok()) return status;
  return BadRow(row.begin(place.source) + place.offset + 1, "{}", Message(status));
}

std::vector<std::string> CsvParser::KeptNames() const {
  std::vector<std::string> names;
  for (const Column& column : schema_.columns) {
    if (column.role == Role::kKeep) names.push_back(column.name);
  }
  return names;
}

Status CsvParser::Kept(std::string_view line, std::vector<std::string>* texts) const {
  texts->clear();
  if (fields_.IsBlank(line)) return absl::OkStatus();
  CsvRow row;
  FL_RETURN_IF_ERROR(fields_.Split(line, &row));
  const std::vector<int> source_of = schema_.Sources();
  for (size_t c = 0; c < schema_.columns.size(); ++c) {
    if (schema_.columns[c].role == Role::kKeep) texts->emplace_back(row.sources()[source_of[c]]);
  }
  return absl::OkStatus();
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
