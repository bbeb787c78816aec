#include "flotilla/python/frame.h"

#include <cmath>

#include "flotilla/base/output_file.h"
#include "flotilla/schema/value.h"

namespace flotilla::python {
namespace {

constexpr size_t kWriteBytes = size_t{1} << 20;

// Quoted if it has to be. Fields do not span lines: a line end becomes a blank.
void AppendText(std::string_view text, char delimiter, std::string* line) {
  bool plain = true;
  for (const char c : text) plain &= c != delimiter && c != '"' && c != '\n' && c != '\r';
  if (plain) {
    line->append(text);
    return;
  }
  *line += '"';
  for (const char c : text) {
    if (c == '"') *line += '"';
    *line += c == '\n' || c == '\r' ? ' ' : c;
  }
  *line += '"';
}

// The text of a Python value: valid while the object is.
std::string_view TextOf(const py::handle& value, const std::string& column) {
  if (value.is_none()) return {};
  Py_ssize_t size = 0;
  const char* const text =
      PyUnicode_Check(value.ptr()) ? PyUnicode_AsUTF8AndSize(value.ptr(), &size) : nullptr;
  if (text == nullptr) {
    PyErr_Clear();
    Check(InvalidArgument("column {}: a text expected, not {}", column,
                          py::str(py::type::of(value)).cast<std::string>()));
  }
  return {text, static_cast<size_t>(size)};
}

template <typename T>
const T* DataOf(const py::array& array, const std::string& column) {
  if (array.ndim() != 1 || !py::isinstance<py::array_t<T>>(array) ||
      (array.flags() & py::array::c_style) == 0) {
    Check(InvalidArgument("column {}: an array of another type or shape", column));
  }
  return static_cast<const T*>(array.data());
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
  if (parts.size() == 3) {
    const py::list texts = parts[2].cast<py::list>();
    column.owners.push_back(texts);
    Texts coded{.codes = DataOf<int64_t>(array, column.name)};
    for (const py::handle& text : texts) coded.texts.push_back(TextOf(text, column.name));
    for (int64_t row = 0; row < rows_; ++row) {
      if (coded.codes[row] >= static_cast<int64_t>(coded.texts.size())) {
        Check(InvalidArgument("column {}: there is no category {}", column.name, coded.codes[row]));
      }
    }
    column.values = std::move(coded);
  } else if (array.dtype().kind() == 'O') {
    Texts texts;
    texts.texts.reserve(rows_);
    const auto* const objects = static_cast<PyObject* const*>(array.data());
    const auto step =
        rows_ > 1 ? array.strides(0) / static_cast<py::ssize_t>(sizeof(PyObject*)) : 1;
    for (int64_t row = 0; row < rows_; ++row) {
      texts.texts.push_back(TextOf(objects[row * step], column.name));
    }
    column.values = std::move(texts);
  } else if (array.dtype().kind() == 'f') {
    column.values = DataOf<double>(array, column.name);
  } else {
    column.values = DataOf<int64_t>(array, column.name);
  }
  return column;
}

std::string Frame::Header(char delimiter) const {
  std::string line;
  for (const Column& column : columns_) {
    if (&column != &columns_.front()) line += delimiter;
    AppendText(column.name, delimiter, &line);
  }
  return line;
}

void Frame::AppendRow(int64_t row, char delimiter, std::string* line) const {
  const size_t before = line->size();
  for (const Column& column : columns_) {
    if (&column != &columns_.front()) *line += delimiter;
    if (const auto* whole = std::get_if<const int64_t*>(&column.values)) {
      const fmt::format_int text((*whole)[row]);
      line->append(text.data(), text.size());
    } else if (const auto* number = std::get_if<const double*>(&column.values)) {
      line->append(CanonicalText((*number)[row]));
    } else {
      const Texts& texts = std::get<Texts>(column.values);
      const int64_t at = texts.codes == nullptr ? row : texts.codes[row];
      if (at >= 0) AppendText(texts.texts[at], delimiter, line);
    }
  }
  if (line->size() == before) line->append("\"\"");  // a blank line is not a row
}

Status Frame::Write(const std::string& path) const {
  FL_ASSIGN_OR_RETURN(OutputFile file, OutputFile::Create(path, {.sync = false}));
  std::string text = Header(',') + "\n";
  for (int64_t row = 0; row < rows_; ++row) {
    AppendRow(row, ',', &text);
    text += '\n';
    if (text.size() < kWriteBytes) continue;
    FL_RETURN_IF_ERROR(file.Write(text));
    text.clear();
  }
  FL_RETURN_IF_ERROR(file.Write(text));
  return file.Finish();
}

}  // namespace flotilla::python
