#include "flotilla/python/frame_rows.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "flotilla/dataset/csv_text.h"

namespace flotilla::python {
namespace {

// The texts of so many rows fit the cache.
constexpr int64_t kPortionRows = 256;

// Inputs of labels, the weight and the group whose columns the frame does not have.
std::vector<std::string> AbsentInputs(const Schema& schema, std::span<const std::string> names) {
  std::vector<std::string> absent;
  for (const Column& column : schema.columns) {
    const bool optional = column.role == Column::Role::kLabel ||
                          column.role == Column::Role::kWeight ||
                          column.role == Column::Role::kGroup;
    if (optional && std::find(names.begin(), names.end(), column.name) == names.end()) {
      absent.push_back(column.input_name());
    }
  }
  return absent;
}

}  // namespace

StatusOr<std::shared_ptr<const Encoder>> FrameEncoders::For(const Frame& frame, bool scoring) {
  if (format_.format != "csv" && format_.format != "tsv") {
    return FailedPrecondition(
        "the model was not trained on rows with a schema: pass a dict of arrays");
  }
  MutexLock lock(mutex_);
  if (!schema_) {
    FL_ASSIGN_OR_RETURN(schema_, SchemaOfSpec(format_));
  }
  if (!schema_->schema().header) return FailedPrecondition("the schema has no names of columns");
  std::vector<std::string> absent;
  if (scoring) absent = AbsentInputs(schema_->schema(), frame.names());
  std::shared_ptr<const Encoder>& encoder = made_[absent];
  if (encoder == nullptr) {
    FL_ASSIGN_OR_RETURN(encoder, Encoder::Make(*schema_, inputs_, absent));
  }
  return encoder;
}

StatusOr<std::unique_ptr<FrameRows>> FrameRows::Make(const Frame* frame,
                                                     std::shared_ptr<const Encoder> encoder) {
  std::unique_ptr<FrameRows> rows(new FrameRows(frame, std::move(encoder)));
  FL_RETURN_IF_ERROR(rows->FindColumns());
  return rows;
}

Status FrameRows::FindColumns() {
  const std::vector<std::string> listed = encoder_->schema().SourceNames();
  const std::vector<std::string>& names = frame_.names();
  cells_.resize(listed.size());
  codes_.resize(listed.size());
  for (size_t source = 0; source < listed.size(); ++source) {
    if (!encoder_->reads(static_cast<int>(source))) continue;
    const auto at = std::find(names.begin(), names.end(), listed[source]);
    if (at == names.end()) {
      return InvalidArgument(
          "the data frame has no column '{}', which the schema lists; its columns are {}",
          listed[source], fmt::join(names, ", "));
    }
    AddColumn(static_cast<int>(source), static_cast<size_t>(at - names.begin()));
  }
  std::vector<std::string> ignored;
  for (const std::string& name : names) {
    if (std::find(listed.begin(), listed.end(), name) == listed.end()) ignored.push_back(name);
  }
  // Columns that the schema ignores without naming them were ignored on purpose.
  const bool on_purpose =
      encoder_->schema().ignore_rest || std::count(listed.begin(), listed.end(), "") > 0;
  if (!ignored.empty() && !on_purpose) {
    note_ = fmt::format("ignored columns, which the schema does not list: {}",
                        fmt::join(ignored, ", "));
  }
  return absl::OkStatus();
}

std::string_view FrameRows::CellOf(std::string_view text) const {
  const Schema& schema = encoder_->schema();
  return schema.trim ? TrimmedCsvText(text, schema.delimiter) : text;
}

void FrameRows::AddColumn(int source, size_t column) {
  const std::span<const std::string_view> categories = frame_.categories(column);
  // A few rows of a frame with many categories.
  const bool few_rows = frame_.rows() < static_cast<int64_t>(categories.size()) / 2;
  if (categories.empty() || few_rows || !encoder_->takes_code(source)) {
    sources_.push_back(source);
    columns_.push_back(column);
    return;
  }
  Coded coded{.source = source, .column = column};
  coded.codes.push_back(encoder_->CodeOf(source, {}));
  for (const std::string_view text : categories) {
    coded.codes.push_back(encoder_->CodeOf(source, CellOf(text)));
  }
  coded_.push_back(std::move(coded));
}

Status FrameRows::AppendTo(int64_t begin, int64_t end, Batch* batch) {
  FL_RETURN_IF_ERROR(frame_.Look(begin, end, columns_, &part_));
  numbers_.resize(end - begin);
  for (Coded& coded : coded_) {
    frame_.ReadCodes(coded.column, begin, numbers_);
    coded.rows.clear();
    for (const int64_t number : numbers_) {
      coded.rows.push_back(&coded.codes[std::max<int64_t>(number, -1) + 1]);
      __builtin_prefetch(coded.rows.back());
    }
  }
  for (int64_t row = begin; row < end; ++row) {
    for (size_t i = 0; i < columns_.size(); ++i) {
      cells_[sources_[i]] = CellOf(part_.texts(columns_[i])[row - begin]);
    }
    for (const Coded& coded : coded_) codes_[coded.source] = coded.rows[row - begin];
    CellPlace place;
    const Status status = encoder_->Encode(cells_, codes_, batch, &place);
    if (!status.ok()) return Annotate(status, fmt::format("row {}", row));
  }
  return absl::OkStatus();
}

RowGenerator FrameRows::Generate() {
  return [this, next = int64_t{0}](Batch* rows) mutable -> StatusOr<bool> {
    const int64_t end = std::min(next + kPortionRows, frame_.rows());
    if (next == end) return false;
    FL_RETURN_IF_ERROR(AppendTo(next, end, rows));
    next = end;
    return true;
  };
}

std::string FrameRows::TakeNote() {
  if (!note_.empty()) return std::exchange(note_, {});
  const int64_t cut = encoder_->TakeCutSequences();
  if (cut == 0) return {};
  return fmt::format("{} sequence{} longer than the length in the schema: the newest ids are kept",
                     cut, cut == 1 ? " was" : "s were");
}

}  // namespace flotilla::python
