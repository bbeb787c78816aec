#include "flotilla/dataset/csv_parser.h"

// Inlines the hash: values are short, so a function call would take longer than the hash itself.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>

#include "flotilla/base/hash.h"
#include "flotilla/dataset/scan_text.h"

namespace flotilla {
namespace {

using Role = CsvColumn::Role;

std::string_view Trimmed(std::string_view text, size_t* removed_in_front) {
  size_t front = 0;
  while (front < text.size() && IsBlank(text[front])) ++front;
  text.remove_prefix(front);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  *removed_in_front = front;
  return text;
}

std::string Shown(std::string_view text) {
  return ShownText(text.data(), text.data() + text.size());
}

}  // namespace

// Splits a line into the fields of its columns.
class CsvParser::Cells {
 public:
  Cells(std::string_view line, const CsvSchema& schema) : line_(line), schema_(schema) {}

  // Offset where the next field begins; after the last field, the size of the line.
  size_t offset() const { return offset_; }
  bool done() const { return done_; }

  // Returns the next field; its text is valid until the next call. Returns an error when its
  // quoting is malformed.
  // REQUIRES: !done().
  Status Next(Cell* cell) {
    size_t begin = offset_;
    if (schema_.trim) {
      while (begin < line_.size() && IsBlank(line_[begin]) && line_[begin] != schema_.delimiter) {
        ++begin;
      }
    }
    if (schema_.quotes && begin < line_.size() && line_[begin] == '"')
      return NextQuoted(begin, cell);
    const size_t end = std::min(line_.find(schema_.delimiter, begin), line_.size());
    cell->text = line_.substr(begin, end - begin);
    cell->begin = begin;
    if (schema_.trim) {
      while (!cell->text.empty() && IsBlank(cell->text.back())) cell->text.remove_suffix(1);
    }
    MoveBehind(end);
    return absl::OkStatus();
  }

 private:
  // `end` is the offset of the delimiter after the field, or of the end of the line.
  void MoveBehind(size_t end) {
    done_ = end == line_.size();
    offset_ = done_ ? end : end + 1;
  }

  Status NextQuoted(size_t open, Cell* cell) {
    cell->begin = open + 1;
    unescaped_.clear();
    size_t from = open + 1;
    size_t close = line_.find('"', from);
    // Two consecutive quotes stand for one quote of the text.
    while (close != std::string_view::npos && close + 1 < line_.size() && line_[close + 1] == '"') {
      unescaped_.append(line_, from, close + 1 - from);
      from = close + 2;
      close = line_.find('"', from);
    }
    if (close == std::string_view::npos) {
      return BadRow(open + 1,
                    "the quote is not closed on its line; quotes=no reads quotes as text");
    }
    cell->text = line_.substr(from, close - from);
    if (from != open + 1) cell->text = unescaped_.append(cell->text);
    size_t end = close + 1;
    while (schema_.trim && end < line_.size() && IsBlank(line_[end]) &&
           line_[end] != schema_.delimiter) {
      ++end;
    }
    if (end < line_.size() && line_[end] != schema_.delimiter) {
      return BadRow(
          end + 1, "expected '{}' after the closing quote, found '{}'",
          schema_.delimiter == '\t' ? std::string("\\t") : std::string(1, schema_.delimiter),
          Shown(line_.substr(end)));
    }
    MoveBehind(end);
    return absl::OkStatus();
  }

  const std::string_view line_;
  const CsvSchema& schema_;
  size_t offset_ = 0;
  bool done_ = false;
  std::string unescaped_;  // only a field with embedded quotes is copied
};

StatusOr<std::unique_ptr<CsvParser>> CsvParser::Make(std::span<const InputSpec> inputs,
                                                     const CsvSchema& schema) {
  FL_RETURN_IF_ERROR(Annotate(schema.Validate(), "csv"));
  std::unique_ptr<CsvParser> parser(new CsvParser(inputs, schema));
  FL_RETURN_IF_ERROR(Annotate(parser->FindFields(), "csv"));
  return parser;
}

CsvParser::CsvParser(std::span<const InputSpec> inputs, const CsvSchema& schema)
    : inputs_(inputs.begin(), inputs.end()),
      schema_(schema),
      field_of_(schema.columns.size(), -1),
      hash_seeds_(schema.columns.size()) {}

Status CsvParser::FindFields() {
  const std::vector<InputSpec> expected = schema_.Inputs();
  auto find = [](std::span<const InputSpec> among, const std::string& name) {
    return std::find_if(among.begin(), among.end(),
                        [&](const InputSpec& each) { return each.name == name; }) -
           among.begin();
  };
  for (const InputSpec& input : inputs_) {
    const size_t k = find(expected, input.name);
    if (k == expected.size()) return InvalidArgument("no column fills input {}", input.name);
    if (expected[k] != input) {
      return InvalidArgument("input {} has another kind or width than its {} columns", input.name,
                             expected[k].width);
    }
  }
  std::vector<int> columns_of(inputs_.size());
  std::vector<bool> is_bag(inputs_.size());
  for (size_t c = 0; c < schema_.columns.size(); ++c) {
    const CsvColumn& column = schema_.columns[c];
    if (column.role == Role::kIgnore) continue;
    const size_t field = find(inputs_, column.input_name());
    if (field == inputs_.size()) {
      return InvalidArgument("{}: the model has no input {}", NameOf(c), column.input_name());
    }
    field_of_[c] = static_cast<int>(field);
    hash_seeds_[c] = HashBytes(column.name);
    const bool is_id = column.role == Role::kId || column.role == Role::kBag;
    is_bag[field] = is_bag[field] || column.role == Role::kBag || (is_id && columns_of[field] > 0);
    ++columns_of[field];
  }
  for (size_t field = 0; field < inputs_.size(); ++field) {
    if (is_bag[field]) bags_.push_back(static_cast<int>(field));
  }
  return absl::OkStatus();
}

std::string CsvParser::identity() const { return "csv/1 " + schema_.ToJson(); }

std::string CsvParser::NameOf(size_t column) const {
  return fmt::format("column {} ({})", column + 1, schema_.columns[column].name);
}

Status CsvParser::CheckHeader(std::string_view line) const {
  Cells cells(line, schema_);
  size_t column = 0;
  for (; !cells.done(); ++column) {
    if (column == schema_.columns.size() && schema_.ignore_rest) return absl::OkStatus();
    Cell cell;
    FL_RETURN_IF_ERROR(cells.Next(&cell));
    if (column >= schema_.columns.size()) {
      return BadRow(cell.begin + 1, "the header has a column '{}' after the {} of the schema",
                    Shown(cell.text), schema_.columns.size());
    }
    const std::string& name = schema_.columns[column].name;
    if (!name.empty() && cell.text != name) {
      return BadRow(cell.begin + 1, "the header names column {} '{}', the schema '{}'", column + 1,
                    Shown(cell.text), name);
    }
  }
  if (column == schema_.columns.size()) return absl::OkStatus();
  return BadRow(line.size() + 1, "the header has {} columns, the schema {}", column,
                schema_.columns.size());
}

bool CsvParser::IsMissing(std::string_view text) const {
  return text.empty() ||
         std::find(schema_.missing.begin(), schema_.missing.end(), text) != schema_.missing.end();
}

Status CsvParser::AddDense(size_t column, const Cell& cell, AlignedVector<float>* values) const {
  const CsvColumn& spec = schema_.columns[column];
  float value = 0;
  if (!IsMissing(cell.text)) {
    const char* const end = cell.text.data() + cell.text.size();
    double number = 0;
    const bool is_number = ScanDouble(cell.text.data(), end, &number) == end;
    number = spec.log ? std::log1p(std::max(number, 0.0)) : (number - spec.min) / spec.diff;
    if (!is_number || !ToFloat(number, &value)) {
      return BadRow(cell.begin + 1, "{}: expected a number, found '{}'{}", NameOf(column),
                    Shown(cell.text), is_number ? " (too large: its square must fit float32)" : "");
    }
  }
  values->push_back(value);
  return absl::OkStatus();
}

// REQUIRES: the column has the role kId or kBag.
Status CsvParser::AddId(size_t column, const Cell& cell, std::vector<uint64_t>* ids) const {
  uint64_t id = 0;
  if (!schema_.columns[column].number) {
    id = XXH64(cell.text.data(), cell.text.size(), hash_seeds_[column]) % schema_.hash_dim;
  } else if (!cell.text.empty()) {
    const char* const end = cell.text.data() + cell.text.size();
    if (ScanUint64(cell.text.data(), end, &id) != end) {
      return BadRow(cell.begin + 1, "{}: expected a whole number below 2^64, found '{}'",
                    NameOf(column), Shown(cell.text));
    }
  }
  ids->push_back(id);
  return absl::OkStatus();
}

Status CsvParser::AddBag(size_t column, const Cell& cell, std::vector<uint64_t>* ids) const {
  std::string_view rest = cell.text;
  size_t begin = cell.begin;
  while (!rest.empty()) {
    const size_t length = std::min(rest.find(schema_.columns[column].separator), rest.size());
    size_t blanks = 0;
    std::string_view value = rest.substr(0, length);
    if (schema_.trim) value = Trimmed(value, &blanks);
    if (!value.empty()) FL_RETURN_IF_ERROR(AddId(column, {value, begin + blanks}, ids));
    begin += length + 1;
    rest.remove_prefix(std::min(length + 1, rest.size()));
  }
  return absl::OkStatus();
}

Status CsvParser::AddLabel(size_t column, const Cell& cell, AlignedVector<float>* values) const {
  const std::vector<std::vector<std::string>>& classes = schema_.columns[column].classes;
  for (size_t k = 0; k < classes.size(); ++k) {
    if (std::find(classes[k].begin(), classes[k].end(), cell.text) != classes[k].end()) {
      values->push_back(static_cast<float>(k));
      return absl::OkStatus();
    }
  }
  if (!classes.empty()) {
    return BadRow(cell.begin + 1, "{}: expected one of the {} classes of the schema, found '{}'",
                  NameOf(column), classes.size(), Shown(cell.text));
  }
  uint64_t label = 0;
  const char* const end = cell.text.data() + cell.text.size();
  if (ScanUint64(cell.text.data(), end, &label) != end || label > kMaxLabel) {
    return BadRow(cell.begin + 1, "{}: expected a whole number of at most {}, found '{}'",
                  NameOf(column), kMaxLabel, Shown(cell.text));
  }
  values->push_back(static_cast<float>(label));
  return absl::OkStatus();
}

Status CsvParser::AddCell(size_t column, const Cell& cell, Field* field) const {
  switch (schema_.columns[column].role) {
    case Role::kIgnore:
      return absl::OkStatus();
    case Role::kDense:
      return AddDense(column, cell, &field->values);
    case Role::kId:
      if (IsMissing(cell.text)) return AddId(column, {"", cell.begin}, &field->ids.ids);
      return AddId(column, cell, &field->ids.ids);
    case Role::kBag:
      return IsMissing(cell.text) ? absl::OkStatus() : AddBag(column, cell, &field->ids.ids);
    case Role::kLabel:
      return AddLabel(column, cell, &field->values);
  }
  return absl::OkStatus();
}

Status CsvParser::ParseColumns(std::string_view line, Batch* batch) const {
  for (const int field : bags_) BeginBag(&batch->fields[field].ids);
  Cells cells(line, schema_);
  const size_t columns = schema_.columns.size();
  for (size_t c = 0; c < columns; ++c) {
    if (cells.done()) {
      return BadRow(line.size() + 1, "expected {} columns, the line ends after {}", columns, c);
    }
    Cell cell;
    FL_RETURN_IF_ERROR(cells.Next(&cell));
    if (field_of_[c] >= 0) FL_RETURN_IF_ERROR(AddCell(c, cell, &batch->fields[field_of_[c]]));
  }
  if (!cells.done() && !schema_.ignore_rest) {
    return BadRow(cells.offset() + 1, "expected the end of the line after {} columns", columns);
  }
  for (const int field : bags_) FL_RETURN_IF_ERROR(EndBag(line, &batch->fields[field].ids));
  return absl::OkStatus();
}

bool CsvParser::IsBlankLine(std::string_view line) const {
  return std::all_of(line.begin(), line.end(), [this](char c) {
    return schema_.trim && IsBlank(c) && c != schema_.delimiter;
  });
}

Status CsvParser::Parse(std::string_view line, Batch* batch) const {
  if (IsBlankLine(line)) return absl::OkStatus();
  return EndRow(inputs_, ParseColumns(line, batch), batch);
}

}  // namespace flotilla
