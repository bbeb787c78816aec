#include "flotilla/python/frame.h"

#include <algorithm>
#include <cmath>

#include "flotilla/base/output_file.h"
#include "flotilla/dataset/csv_text.h"
#include "flotilla/python/arrays.h"
#include "flotilla/schema/value.h"

namespace flotilla::python {
namespace {

constexpr size_t kWriteBytes = size_t{1} << 20;
constexpr int64_t kPartRows = 4096;

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

Status NotText(const std::string& column, PyObject* value) {
  return InvalidArgument("column {}: a text expected, not {}", column,
                         py::str(py::handle(value)).cast<std::string>());
}

}  // namespace

Frame::Frame(const py::list& columns) {
  for (const py::handle& column : columns) {
    columns_.push_back(MakeColumn(py::reinterpret_borrow<py::tuple>(column)));
  }
  if (columns_.empty()) Check(InvalidArgument("the data frame has no columns"));
}

Frame::Column Frame::MakeColumn(const py::tuple& parts) {
  Column column{.name = parts[0].cast<std::string>()};
  const py::array array = parts[1].cast<py::array>();
  column.owners.push_back(array);
  if (rows_ >= 0 && array.size() != rows_) {
    Check(InvalidArgument("column {} has {} rows, another {}", column.name, array.size(), rows_));
  }
  rows_ = array.size();
  if (array.dtype().kind() == 'O') {
    column.values = array;
    return column;
  }
  const ArrayView view = ViewOfArray(array, "column " + column.name);
  column.is_float = array.dtype().kind() == 'f';
  column.is_uint64 = view.type == ArrayView::Type::kUint64;
  column.values = view;
  if (parts.size() < 3) return column;
  Coded coded{.codes = view};
  const py::list texts = parts[2].cast<py::list>();
  column.owners.push_back(texts);
  for (const py::handle& text : texts) {
    const auto found = TextOf(text.ptr());
    if (!found) Check(NotText(column.name, text.ptr()));
    coded.texts.push_back(*found);
  }
  for (int64_t row = 0; row < rows_; ++row) {
    const int64_t code = IntAt(view, row);
    if (code >= static_cast<int64_t>(coded.texts.size())) {
      Check(InvalidArgument("column {}: there is no category {}", column.name, code));
    }
  }
  column.values = std::move(coded);
  return column;
}

std::string Frame::Header(char delimiter) const {
  std::string line;
  for (const Column& column : columns_) {
    if (&column != &columns_.front()) line += delimiter;
    AppendCsvText(column.name, delimiter, &line);
  }
  return line;
}

StatusOr<Frame::Part> Frame::Look(int64_t begin, int64_t end) const {
  Part part;
  part.frame_ = this;
  part.begin_ = begin;
  part.texts_.resize(columns_.size());
  std::optional<py::gil_scoped_acquire> acquired;
  for (size_t c = 0; c < columns_.size(); ++c) {
    const auto* const objects = std::get_if<py::array>(&columns_[c].values);
    if (objects == nullptr) continue;
    if (!acquired) acquired.emplace();
    const char* const data = static_cast<const char*>(objects->data());
    part.texts_[c].reserve(end - begin);
    for (int64_t row = begin; row < end; ++row) {
      PyObject* const value = *reinterpret_cast<PyObject* const*>(data + row * objects->strides(0));
      const auto text = TextOf(value);
      if (!text) return NotText(columns_[c].name, value);
      part.texts_[c].push_back(*text);
    }
  }
  return part;
}

void Frame::Part::AppendRow(int64_t row, char delimiter, std::string* line) const {
  const size_t before = line->size();
  for (size_t c = 0; c < texts_.size(); ++c) {
    const Column& column = frame_->columns_[c];
    if (c > 0) *line += delimiter;
    if (const auto* coded = std::get_if<Coded>(&column.values)) {
      const int64_t code = IntAt(coded->codes, row);
      if (code >= 0) AppendCsvText(coded->texts[code], delimiter, line);
      continue;
    }
    const auto* const numbers = std::get_if<ArrayView>(&column.values);
    if (numbers == nullptr) {
      AppendCsvText(texts_[c][row - begin_], delimiter, line);
    } else if (column.is_float) {
      line->append(CanonicalText(NumberAt(*numbers, row)));
    } else if (column.is_uint64) {
      line->append(fmt::format_int(static_cast<uint64_t>(IntAt(*numbers, row))).str());
    } else {
      const fmt::format_int text(IntAt(*numbers, row));
      line->append(text.data(), text.size());
    }
  }
  EndCsvRow(before, line);
}

Status Frame::Write(const std::string& path) const {
  FL_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path, {.sync = false}));
  std::string text = Header(',') + "\n";
  for (int64_t begin = 0; begin < rows_; begin += kPartRows) {
    const int64_t end = std::min(begin + kPartRows, rows_);
    FL_ASSIGN_OR_RETURN(const Part part, Look(begin, end));
    for (int64_t row = begin; row < end; ++row) {
      part.AppendRow(row, ',', &text);
      text += '\n';
    }
    if (text.size() < kWriteBytes) continue;
    FL_RETURN_IF_ERROR(file.Write(text));
    text.clear();
  }
  FL_RETURN_IF_ERROR(file.Write(text));
  return file.Finish();
}

}  // namespace flotilla::python
