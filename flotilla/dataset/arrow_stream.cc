#include "flotilla/dataset/arrow_stream.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "flotilla/base/output_file.h"
#include "flotilla/dataset/csv_text.h"
#include "flotilla/schema/value.h"

namespace flotilla {
namespace {

constexpr size_t kCsvBytes = size_t{1} << 20;
constexpr char kListSeparator = '|';

// ---- Ownership ----

// A structure of the interface, which it releases.
template <typename T>
class Owned {
 public:
  Owned() { std::memset(&value_, 0, sizeof(value_)); }
  explicit Owned(T* moved) : value_(*moved) { moved->release = nullptr; }
  ~Owned() { Release(); }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  void Release() {
    if (value_.release != nullptr) value_.release(&value_);
    value_.release = nullptr;
  }
  T* get() { return &value_; }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }

 private:
  T value_;
};

// ---- Types ----

enum class ArrowKind {
  kNull,
  kBool,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUint8,
  kUint16,
  kUint32,
  kUint64,
  kFloat,
  kDouble,
  kText,
  kLargeText,
  kTextView,
  kList,
  kLargeList,
  kFixedList,
  kOther,
};

struct ArrowType {
  ArrowKind kind = ArrowKind::kOther;
  std::string name;                       // for errors
  int64_t list_size = 0;                  // of kFixedList
  std::unique_ptr<ArrowType> item;        // of lists
  std::unique_ptr<ArrowType> dictionary;  // the values; `kind` is that of the indices

  bool is_int() const { return kind >= ArrowKind::kInt8 && kind <= ArrowKind::kUint64; }
  bool is_number() const { return kind >= ArrowKind::kBool && kind <= ArrowKind::kDouble; }
  bool is_text() const { return kind >= ArrowKind::kText && kind <= ArrowKind::kTextView; }
  bool is_list() const { return kind >= ArrowKind::kList && kind <= ArrowKind::kFixedList; }
  // The type of a value, behind a dictionary if there is one.
  const ArrowType& plain() const { return dictionary == nullptr ? *this : *dictionary; }
};

struct NamedFormat {
  std::string_view format;
  ArrowKind kind;
  std::string_view name;
};
constexpr NamedFormat kFormats[] = {{"n", ArrowKind::kNull, "null"},
                                    {"b", ArrowKind::kBool, "bool"},
                                    {"c", ArrowKind::kInt8, "int8"},
                                    {"C", ArrowKind::kUint8, "uint8"},
                                    {"s", ArrowKind::kInt16, "int16"},
                                    {"S", ArrowKind::kUint16, "uint16"},
                                    {"i", ArrowKind::kInt32, "int32"},
                                    {"I", ArrowKind::kUint32, "uint32"},
                                    {"l", ArrowKind::kInt64, "int64"},
                                    {"L", ArrowKind::kUint64, "uint64"},
                                    {"f", ArrowKind::kFloat, "float32"},
                                    {"g", ArrowKind::kDouble, "float64"},
                                    {"u", ArrowKind::kText, "utf8"},
                                    {"U", ArrowKind::kLargeText, "large_utf8"},
                                    {"vu", ArrowKind::kTextView, "utf8"},
                                    {"+l", ArrowKind::kList, "list"},
                                    {"+L", ArrowKind::kLargeList, "list"},
                                    {"e", ArrowKind::kOther, "float16"},
                                    {"z", ArrowKind::kOther, "binary"},
                                    {"Z", ArrowKind::kOther, "large_binary"},
                                    {"+s", ArrowKind::kOther, "struct"},
                                    {"+m", ArrowKind::kOther, "map"},
                                    {"tdD", ArrowKind::kOther, "date32"},
                                    {"tdm", ArrowKind::kOther, "date64"},
                                    {"+r", ArrowKind::kOther, "run-end encoded"}};
// Formats that go on with parameters.
constexpr NamedFormat kPrefixes[] = {{"+w:", ArrowKind::kFixedList, "fixed-size list"},
                                     {"ts", ArrowKind::kOther, "timestamp"},
                                     {"tt", ArrowKind::kOther, "time"},
                                     {"tD", ArrowKind::kOther, "duration"},
                                     {"d:", ArrowKind::kOther, "decimal"},
                                     {"w:", ArrowKind::kOther, "fixed-size binary"},
                                     {"+u", ArrowKind::kOther, "union"}};

ArrowType TypeOf(const ArrowSchema& schema) {
  const std::string_view format = schema.format;
  ArrowType type{.name = fmt::format("'{}'", format)};
  for (const NamedFormat& each : kPrefixes) {
    if (format.starts_with(each.format)) type.kind = each.kind, type.name = each.name;
  }
  for (const NamedFormat& each : kFormats) {
    if (format == each.format) type.kind = each.kind, type.name = each.name;
  }
  if (type.kind == ArrowKind::kFixedList) {
    type.list_size = std::strtoll(schema.format + 3, nullptr, 10);
  }
  if (type.is_list()) {
    type.item = std::make_unique<ArrowType>(TypeOf(*schema.children[0]));
    type.name += " of " + type.item->name;
  }
  if (schema.dictionary != nullptr) {
    type.dictionary = std::make_unique<ArrowType>(TypeOf(*schema.dictionary));
    type.name = "dictionary of " + type.dictionary->name;
  }
  return type;
}

// ---- Values ----

// The values of a column in one array of the stream. Positions are those of the array, without its
// offset.
class ArrowValues {
 public:
  ArrowValues(const ArrowType* type, const ArrowArray* array) : type_(*type), array_(*array) {}

  bool IsNull(int64_t i) const {
    if (type_.kind == ArrowKind::kNull) return true;
    if (array_.null_count != 0 && array_.n_buffers > 0 && array_.buffers[0] != nullptr &&
        !Bit(0, i)) {
      return true;
    }
    return type_.dictionary != nullptr && Dictionary().IsNull(Int(i));
  }

  // REQUIRES: the type is a whole number; a uint64 keeps its bits.
  int64_t Int(int64_t i) const {
    switch (type_.kind) {
      case ArrowKind::kInt8:
        return At<int8_t>(i);
      case ArrowKind::kInt16:
        return At<int16_t>(i);
      case ArrowKind::kInt32:
        return At<int32_t>(i);
      case ArrowKind::kUint8:
        return At<uint8_t>(i);
      case ArrowKind::kUint16:
        return At<uint16_t>(i);
      case ArrowKind::kUint32:
        return At<uint32_t>(i);
      default:
        return At<int64_t>(i);
    }
  }
  // REQUIRES: the type is a number.
  double Number(int64_t i) const {
    switch (type_.kind) {
      case ArrowKind::kBool:
        return Bit(1, i) ? 1 : 0;
      case ArrowKind::kFloat:
        return At<float>(i);
      case ArrowKind::kDouble:
        return At<double>(i);
      case ArrowKind::kUint64:
        return static_cast<double>(At<uint64_t>(i));
      default:
        return static_cast<double>(Int(i));
    }
  }
  // REQUIRES: the type is a text. Valid while the array is.
  std::string_view Text(int64_t i) const {
    if (type_.kind == ArrowKind::kText) return TextAt<int32_t>(i);
    if (type_.kind == ArrowKind::kLargeText) return TextAt<int64_t>(i);
    constexpr int32_t kInline = 12;
    const char* const view = static_cast<const char*>(array_.buffers[1]) + (array_.offset + i) * 16;
    int32_t size = 0, buffer = 0, offset = 0;
    std::memcpy(&size, view, sizeof(size));
    if (size <= kInline) return {view + 4, static_cast<size_t>(size)};
    std::memcpy(&buffer, view + 8, sizeof(buffer));
    std::memcpy(&offset, view + 12, sizeof(offset));
    return {static_cast<const char*>(array_.buffers[2 + buffer]) + offset,
            static_cast<size_t>(size)};
  }
  // The positions of the items of a list. REQUIRES: the type is a list.
  std::pair<int64_t, int64_t> Items(int64_t i) const {
    if (type_.kind == ArrowKind::kList) return {At<int32_t>(i), At<int32_t>(i + 1)};
    if (type_.kind == ArrowKind::kLargeList) return {At<int64_t>(i), At<int64_t>(i + 1)};
    const int64_t begin = (array_.offset + i) * type_.list_size;
    return {begin, begin + type_.list_size};
  }
  ArrowValues ItemValues() const { return {type_.item.get(), array_.children[0]}; }
  ArrowValues Dictionary() const { return {type_.dictionary.get(), array_.dictionary}; }
  const ArrowType& type() const { return type_; }

 private:
  template <typename T>
  T At(int64_t i) const {
    T value;
    std::memcpy(&value, static_cast<const T*>(array_.buffers[1]) + array_.offset + i, sizeof(T));
    return value;
  }
  bool Bit(int buffer, int64_t i) const {
    const int64_t at = array_.offset + i;
    return (static_cast<const uint8_t*>(array_.buffers[buffer])[at / 8] >> (at % 8)) & 1;
  }
  template <typename Offset>
  std::string_view TextAt(int64_t i) const {
    const Offset begin = At<Offset>(i), end = At<Offset>(i + 1);
    if (begin == end) return {};
    return {static_cast<const char*>(array_.buffers[2]) + begin, static_cast<size_t>(end - begin)};
  }

  const ArrowType& type_;
  const ArrowArray& array_;
};

// ---- The stream ----

struct ArrowColumn {
  std::string name;
  ArrowType type;
};

class ArrowReader {
 public:
  explicit ArrowReader(ArrowArrayStream* stream) : stream_(stream) {}

  Status Open() {
    if (stream_->release == nullptr) {
      return InvalidArgument("Arrow: the stream was read already: pass one that is new");
    }
    Owned<ArrowSchema> schema;
    FL_RETURN_IF_ERROR(Check(stream_->get_schema(stream_.get(), schema.get())));
    if (std::string_view(schema->format) != "+s") {
      return InvalidArgument("Arrow: a stream of record batches expected, not of '{}'",
                             schema->format);
    }
    for (int64_t c = 0; c < schema->n_children; ++c) {
      const ArrowSchema& child = *schema->children[c];
      columns_.push_back({child.name == nullptr ? "" : child.name, TypeOf(child)});
    }
    return absl::OkStatus();
  }

  // Reads the next record batch that has rows; false at the end.
  StatusOr<bool> Next() {
    do {
      first_row_ += rows();
      batch_.Release();
      FL_RETURN_IF_ERROR(Check(stream_->get_next(stream_.get(), batch_.get())));
      if (batch_->release == nullptr) return false;
    } while (batch_->length == 0);
    if (batch_->n_children != static_cast<int64_t>(columns_.size())) {
      return InvalidArgument("Arrow: a record batch has {} columns, the schema {}",
                             batch_->n_children, columns_.size());
    }
    return true;
  }

  const std::vector<ArrowColumn>& columns() const { return columns_; }
  int64_t rows() const { return batch_->release == nullptr ? 0 : batch_->length; }
  // Rows of the batches before this one.
  int64_t first_row() const { return first_row_; }
  ArrowValues Values(size_t column) const {
    return {&columns_[column].type, batch_->children[column]};
  }
  // What Values calls row 0.
  int64_t begin() const { return batch_->offset; }

 private:
  Status Check(int code) {
    if (code == 0) return absl::OkStatus();
    const char* const text = stream_->get_last_error(stream_.get());
    return InvalidArgument("Arrow: {}", text == nullptr ? std::strerror(code) : text);
  }

  Owned<ArrowArrayStream> stream_;
  std::vector<ArrowColumn> columns_;
  Owned<ArrowArray> batch_;
  int64_t first_row_ = 0;
};

// ---- Rows of inputs ----

// Fills the fields of a model's inputs.
class InputReader {
 public:
  InputReader(std::unique_ptr<ArrowReader> reader, std::vector<InputSpec> inputs)
      : reader_(std::move(reader)), inputs_(std::move(inputs)) {}

  Status Open() {
    for (const InputSpec& input : inputs_) {
      const auto& columns = reader_->columns();
      size_t c = 0;
      while (c < columns.size() && columns[c].name != input.name) ++c;
      if (c == columns.size()) {
        std::vector<std::string> names;
        for (const ArrowColumn& column : columns) names.push_back(column.name);
        return InvalidArgument("input {}: the stream has no column of that name, only {}",
                               input.name, fmt::join(names, ", "));
      }
      FL_RETURN_IF_ERROR(CheckType(input, columns[c].type));
      columns_.push_back(c);
    }
    return absl::OkStatus();
  }

  StatusOr<bool> Read(Batch* batch) {
    FL_ASSIGN_OR_RETURN(const bool more, reader_->Next());
    if (!more) return false;
    for (size_t f = 0; f < inputs_.size(); ++f) {
      const ArrowValues values = reader_->Values(columns_[f]);
      FL_RETURN_IF_ERROR(inputs_[f].kind == InputKind::kIds
                             ? ReadIds(inputs_[f], values, &batch->fields[f].ids)
                             : ReadNumbers(inputs_[f], values, &batch->fields[f]));
    }
    batch->rows = reader_->rows();
    return true;
  }

 private:
  static Status CheckType(const InputSpec& input, const ArrowType& type) {
    const ArrowType& plain = type.plain();
    const ArrowType& value = plain.is_list() ? plain.item->plain() : plain;
    if (value.kind == ArrowKind::kNull) return absl::OkStatus();
    if (input.kind == InputKind::kIds) {
      if (value.is_int()) return absl::OkStatus();
      return InvalidArgument(
          "column {} is of the type {}: ids are whole numbers or lists of them; cast the column, "
          "or train a model of the zoo, which takes texts as they are",
          input.name, type.name);
    }
    if (value.is_number() && (input.width > 1 || !plain.is_list())) return absl::OkStatus();
    return InvalidArgument("column {} is of the type {}: {} expected; cast the column", input.name,
                           type.name, input.width == 1 ? "numbers" : "lists of numbers");
  }

  Status IsMissing(const InputSpec& input, int64_t i) const {
    return InvalidArgument("column {}: row {} is null: fill the column or leave the row out",
                           input.name, reader_->first_row() + i);
  }

  // Calls read(values, position) for a value that may be in a dictionary.
  template <typename Read>
  static auto Plain(const ArrowValues& values, int64_t i, Read read) {
    if (values.type().dictionary == nullptr) return read(values, i);
    return read(values.Dictionary(), values.Int(i));
  }

  Status AppendId(const InputSpec& input, const ArrowValues& values, int64_t at, int64_t row,
                  RaggedIds* ids) const {
    if (values.IsNull(at)) return IsMissing(input, row);
    return Plain(values, at, [&](const ArrowValues& plain, int64_t i) -> Status {
      const int64_t id = plain.Int(i);
      if (id < 0 && plain.type().kind != ArrowKind::kUint64) {
        return InvalidArgument("column {}: {} in row {} is negative", input.name, id,
                               reader_->first_row() + row);
      }
      ids->ids.push_back(static_cast<uint64_t>(id));
      return absl::OkStatus();
    });
  }

  Status ReadIds(const InputSpec& input, const ArrowValues& values, RaggedIds* ids) const {
    const bool lists = values.type().is_list();
    if (lists) ids->offsets.push_back(0);
    for (int64_t row = 0; row < reader_->rows(); ++row) {
      const int64_t at = reader_->begin() + row;
      if (!lists) {
        FL_RETURN_IF_ERROR(AppendId(input, values, at, row, ids));
        continue;
      }
      if (!values.IsNull(at)) {
        const auto [begin, end] = values.Items(at);
        const ArrowValues items = values.ItemValues();
        for (int64_t i = begin; i < end; ++i) {
          FL_RETURN_IF_ERROR(AppendId(input, items, i, row, ids));
        }
      }
      ids->offsets.push_back(static_cast<uint32_t>(ids->ids.size()));
    }
    return absl::OkStatus();
  }

  Status AppendNumber(const InputSpec& input, const ArrowValues& values, int64_t at, int64_t row,
                      Field* field) const {
    if (values.IsNull(at)) return IsMissing(input, row);
    field->values.push_back(static_cast<float>(
        Plain(values, at, [](const ArrowValues& plain, int64_t i) { return plain.Number(i); })));
    return absl::OkStatus();
  }

  Status ReadNumbers(const InputSpec& input, const ArrowValues& values, Field* field) const {
    for (int64_t row = 0; row < reader_->rows(); ++row) {
      const int64_t at = reader_->begin() + row;
      if (!values.type().is_list()) {
        if (input.width != 1) return WrongSize(input, 1, row);
        FL_RETURN_IF_ERROR(AppendNumber(input, values, at, row, field));
        continue;
      }
      if (values.IsNull(at)) return IsMissing(input, row);
      const auto [begin, end] = values.Items(at);
      if (end - begin != input.width) return WrongSize(input, end - begin, row);
      const ArrowValues items = values.ItemValues();
      for (int64_t i = begin; i < end; ++i) {
        FL_RETURN_IF_ERROR(AppendNumber(input, items, i, row, field));
      }
    }
    return absl::OkStatus();
  }

  Status WrongSize(const InputSpec& input, int64_t size, int64_t row) const {
    return InvalidArgument("column {}: row {} has {} numbers, the input has {}", input.name,
                           reader_->first_row() + row, size, input.width);
  }

  const std::unique_ptr<ArrowReader> reader_;
  const std::vector<InputSpec> inputs_;
  std::vector<size_t> columns_;  // by input
};

// ---- CSV ----

Status CheckCsvType(const ArrowColumn& column) {
  const ArrowType& plain = column.type.plain();
  const ArrowType& value = plain.is_list() ? plain.item->plain() : plain;
  if (value.is_number() || value.is_text() || value.kind == ArrowKind::kNull) {
    return absl::OkStatus();
  }
  return InvalidArgument(
      "column {} is of the type {}, which is not read: cast it to a string or a number, or leave "
      "it out",
      column.name, column.type.name);
}

void AppendValue(const ArrowValues& values, int64_t i, std::string* line) {
  if (values.IsNull(i)) return;
  const ArrowType& type = values.type();
  if (type.dictionary != nullptr) {
    AppendValue(values.Dictionary(), values.Int(i), line);
  } else if (type.is_text()) {
    AppendCsvText(values.Text(i), ',', line);
  } else if (type.is_list()) {
    const auto [begin, end] = values.Items(i);
    const ArrowValues items = values.ItemValues();
    for (int64_t item = begin; item < end; ++item) {
      if (item > begin) *line += kListSeparator;
      AppendValue(items, item, line);
    }
  } else if (type.kind == ArrowKind::kBool) {
    line->append(values.Number(i) != 0 ? "True" : "False");
  } else if (type.kind == ArrowKind::kUint64) {
    line->append(fmt::format_int(static_cast<uint64_t>(values.Int(i))).str());
  } else if (type.is_int()) {
    const fmt::format_int text(values.Int(i));
    line->append(text.data(), text.size());
  } else if (type.kind == ArrowKind::kFloat) {
    line->append(CanonicalText(static_cast<float>(values.Number(i))));
  } else {
    line->append(CanonicalText(values.Number(i)));
  }
}

}  // namespace

StatusOr<RowGenerator> MakeArrowGenerator(ArrowArrayStream* stream, std::vector<InputSpec> inputs) {
  auto reader = std::make_unique<ArrowReader>(stream);
  FL_RETURN_IF_ERROR(reader->Open());
  const auto rows = std::make_shared<InputReader>(std::move(reader), std::move(inputs));
  FL_RETURN_IF_ERROR(rows->Open());
  return [rows](Batch* batch) { return rows->Read(batch); };
}

Status WriteArrowCsv(ArrowArrayStream* stream, const std::string& path) {
  ArrowReader reader(stream);
  FL_RETURN_IF_ERROR(reader.Open());
  if (reader.columns().empty()) return InvalidArgument("Arrow: the stream has no columns");
  FL_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path, {.sync = false}));
  std::string text;
  for (const ArrowColumn& column : reader.columns()) {
    FL_RETURN_IF_ERROR(CheckCsvType(column));
    if (&column != &reader.columns().front()) text += ',';
    AppendCsvText(column.name, ',', &text);
  }
  text += '\n';
  while (true) {
    FL_ASSIGN_OR_RETURN(const bool more, reader.Next());
    if (!more) break;
    for (int64_t row = 0; row < reader.rows(); ++row) {
      const size_t begin = text.size();
      for (size_t c = 0; c < reader.columns().size(); ++c) {
        if (c > 0) text += ',';
        AppendValue(reader.Values(c), reader.begin() + row, &text);
      }
      EndCsvRow(begin, &text);
      text += '\n';
      if (text.size() < kCsvBytes) continue;
      FL_RETURN_IF_ERROR(file.Write(text));
      text.clear();
    }
  }
  FL_RETURN_IF_ERROR(file.Write(text));
  return file.Finish();
}

}  // namespace flotilla
