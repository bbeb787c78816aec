#include "flotilla/python/frame.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

#include "flotilla/base/output_file.h"
#include "flotilla/dataset/csv_text.h"
#include "flotilla/python/arrays.h"
#include "flotilla/schema/value.h"

namespace flotilla::python {
namespace {

constexpr size_t kWriteBytes = size_t{1} << 20;
constexpr int64_t kPartRows = 1024;
// Objects stand anywhere in memory: so many are on their way to the cache.
constexpr int64_t kAhead = 16;

// The text of a Python value, valid while the object is; not set: it is something else. With the
// GIL.
std::optional<std::string_view> TextOf(PyObject* value) {
  if (value == Py_None || PyFloat_Check(value)) return std::string_view();
  if (!PyUnicode_Check(value)) return std::nullopt;
  Py_ssize_t size = 0;
  const char* const text = PyUnicode_AsUTF8AndSize(value, &size);
  if (text == nullptr) {
    PyErr_Clear();
    return std::nullopt;
  }
  return std::string_view(text, static_cast<size_t>(size));
}

// -1: there are none.
int64_t LargestCode(const ArrayView& codes, int64_t rows) {
  int64_t largest = -1;
  std::array<int64_t, kPartRows> some;
  for (int64_t begin = 0; begin < rows; begin += kPartRows) {
    const std::span<int64_t> part(some.data(), std::min(kPartRows, rows - begin));
    ReadInts(codes, begin, part);
    for (const int64_t code : part) largest = std::max(largest, code);
  }
  return largest;
}

// With the GIL, on any thread: what the value's own methods raise is not raised here.
Status NotText(const std::string& column, PyObject* value) {
  const auto shown = py::reinterpret_steal<py::object>(PyObject_ASCII(value));
  if (!shown) PyErr_Clear();
  const std::string text = shown ? PyUnicode_AsUTF8(shown.ptr())
                                 : std::string("an object of ") + Py_TYPE(value)->tp_name;
  return InvalidArgument(
      "column {}: {}, not {}", column,
      PyUnicode_Check(value) ? "a text that is Unicode expected" : "a text expected", text);
}

}  // namespace

Frame::Frame(const py::list& columns) {
  for (const py::handle& column : columns) {
    const auto parts = py::reinterpret_borrow<py::tuple>(column);
    names_.push_back(parts[0].cast<std::string>());
    columns_.push_back(MakeColumn(names_.back(), parts));
  }
  if (columns_.empty()) Check(InvalidArgument("the data frame has no columns"));
}

Frame::Column Frame::MakeColumn(const std::string& name, const py::tuple& parts) {
  Column column;
  const py::array array = parts[1].cast<py::array>();
  column.owners.push_back(array);
  if (rows_ >= 0 && array.size() != rows_) {
    Check(InvalidArgument("column {} has {} rows, another {}", name, array.size(), rows_));
  }
  rows_ = array.size();
  if (array.dtype().kind() == 'O') {
    column.values = array;
    return column;
  }
  const ArrayView view = ViewOfArray(array, "column " + name);
  column.is_float = array.dtype().kind() == 'f';
  column.is_uint64 = view.type == ArrayView::Type::kUint64;
  column.values = view;
  if (parts.size() < 3) return column;
  Coded coded{.codes = view};
  AddTexts(name, parts[2].cast<py::list>(), &coded);
  const int64_t largest = LargestCode(view, rows_);
  if (largest >= static_cast<int64_t>(coded.texts.size())) {
    Check(InvalidArgument("column {}: there is no category {}", name, largest));
  }
  column.values = std::move(coded);
  return column;
}

// Together in memory, where objects stand anywhere.
void Frame::AddTexts(const std::string& name, const py::list& texts, Coded* coded) {
  std::deque<std::string> copies;
  size_t bytes = 0;
  for (const py::handle& text : texts) {
    const auto found = TextOf(text.ptr());
    if (!found) Check(NotText(name, text.ptr()));
    coded->texts.push_back(OneLine(*found, &copies));
    bytes += found->size();
  }
  coded->bytes = std::make_unique<char[]>(bytes);
  char* to = coded->bytes.get();
  for (std::string_view& text : coded->texts) {
    const std::string_view from = text;
    text = {to, from.size()};
    to = std::copy(from.begin(), from.end(), to);
  }
}

Status Frame::LookAtObjects(size_t column, int64_t begin, int64_t end, Part* part) const {
  const auto& objects = std::get<py::array>(columns_[column].values);
  const char* const data = static_cast<const char*>(objects.data());
  const auto object = [&](int64_t row) {
    return *reinterpret_cast<PyObject* const*>(data + row * objects.strides(0));
  };
  std::vector<std::string_view>& texts = part->texts_[column];
  for (int64_t row = begin; row < end; ++row) {
    if (row + kAhead < end) __builtin_prefetch(object(row + kAhead));
    const auto text = TextOf(object(row));
    if (!text) return NotText(names_[column], object(row));
    texts.push_back(OneLine(*text, &part->copies_));
  }
  return absl::OkStatus();
}

// Returns the end of what was written.
char* Frame::WriteNumbers(const Column& column, int64_t begin, int64_t end, char* to, Part* part,
                          std::vector<std::string_view>* texts) {
  const auto& view = std::get<ArrayView>(column.values);
  const auto count = static_cast<size_t>(end - begin);
  const auto add = [&](char* text_end) {
    texts->emplace_back(to, static_cast<size_t>(text_end - to));
    to = text_end;
  };
  if (column.is_float) {
    part->doubles_.resize(count);
    ReadNumbers(view, begin, part->doubles_);
    if (view.type == ArrayView::Type::kFloat32) {
      for (const double number : part->doubles_) {
        add(WriteCanonicalText(static_cast<float>(number), to));
      }
      return to;
    }
    for (const double number : part->doubles_) add(WriteCanonicalText(number, to));
    return to;
  }
  part->ints_.resize(count);
  ReadInts(view, begin, part->ints_);
  for (const int64_t number : part->ints_) {
    const fmt::format_int text =
        column.is_uint64 ? fmt::format_int(static_cast<uint64_t>(number)) : fmt::format_int(number);
    add(std::copy_n(text.data(), text.size(), to));
  }
  return to;
}

Status Frame::Look(int64_t begin, int64_t end, std::span<const size_t> columns, Part* part) const {
  part->texts_.resize(columns_.size());
  part->copies_.clear();
  part->numbers_.resize(columns.size() * static_cast<size_t>(end - begin) * kCanonicalTextBytes);
  char* number_end = part->numbers_.data();
  std::optional<py::gil_scoped_acquire> acquired;
  for (const size_t c : columns) {
    std::vector<std::string_view>& texts = part->texts_[c];
    texts.clear();
    texts.reserve(end - begin);
    if (const auto* coded = std::get_if<Coded>(&columns_[c].values)) {
      part->ints_.resize(end - begin);
      ReadInts(coded->codes, begin, part->ints_);
      for (const int64_t code : part->ints_) {
        texts.push_back(code < 0 ? std::string_view() : coded->texts[code]);
        __builtin_prefetch(texts.back().data());
      }
    } else if (std::holds_alternative<ArrayView>(columns_[c].values)) {
      number_end = WriteNumbers(columns_[c], begin, end, number_end, part, &texts);
    } else {
      if (!acquired) acquired.emplace();
      FL_RETURN_IF_ERROR(LookAtObjects(c, begin, end, part));
    }
  }
  return absl::OkStatus();
}

std::span<const std::string_view> Frame::categories(size_t column) const {
  const auto* const coded = std::get_if<Coded>(&columns_[column].values);
  if (coded == nullptr) return {};
  return coded->texts;
}

void Frame::ReadCodes(size_t column, int64_t begin, std::span<int64_t> to) const {
  ReadInts(std::get<Coded>(columns_[column].values).codes, begin, to);
}

Status Frame::Write(const std::string& path) const {
  constexpr char kDelimiter = ',';
  FL_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path, {.sync = false}));
  std::string text;
  for (const std::string& name : names_) {
    if (&name != &names_.front()) text += kDelimiter;
    AppendCsvText(name, kDelimiter, &text);
  }
  text += '\n';
  std::vector<size_t> all(columns_.size());
  std::iota(all.begin(), all.end(), size_t{0});
  Part part;
  for (int64_t begin = 0; begin < rows_; begin += kPartRows) {
    const int64_t end = std::min(begin + kPartRows, rows_);
    FL_RETURN_IF_ERROR(Look(begin, end, all, &part));
    for (int64_t row = 0; row < end - begin; ++row) {
      const size_t before = text.size();
      for (const size_t c : all) {
        if (c > 0) text += kDelimiter;
        const std::string_view cell = part.texts(c)[row];
        if (std::holds_alternative<ArrayView>(columns_[c].values)) {
          text += cell;
        } else {
          AppendCsvText(cell, kDelimiter, &text);
        }
      }
      EndCsvRow(before, &text);
      text += '\n';
    }
    if (text.size() < kWriteBytes) continue;
    FL_RETURN_IF_ERROR(file.Write(text));
    RaiseSignals();
    text.clear();
  }
  FL_RETURN_IF_ERROR(file.Write(text));
  return file.Finish();
}

}  // namespace flotilla::python
