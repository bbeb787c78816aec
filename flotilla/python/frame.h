// The columns of a data frame as lines of CSV text: what the engine knows how to read. Values
// become the same text, and so the same ids, as in a file.
#pragma once

#include <pybind11/numpy.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "flotilla/python/bindings.h"

namespace flotilla::python {

// Keeps the arrays alive. All methods except the constructor and the destructor may be called
// without the GIL, by one thread at a time.
class Frame {
 public:
  // `columns`: tuples (name, values) of an array of int64, float64 or Python objects (str, None for
  // a missing value), or (name, codes, texts): codes of int64, -1 for a missing value, and the list
  // of their texts. All of one length. Raises an error that names the column.
  explicit Frame(const py::list& columns);

  int64_t rows() const { return rows_; }
  // The names, as a line without its end.
  std::string Header(char delimiter) const;
  // Appends a row to *line.
  void AppendRow(int64_t row, char delimiter, std::string* line) const;
  // Writes a file with a header.
  Status Write(const std::string& path) const;

 private:
  struct Texts {
    std::vector<std::string_view> texts;  // of the rows, or of the codes
    const int64_t* codes = nullptr;       // null: one text per row
  };
  struct Column {
    std::string name;
    std::variant<const int64_t*, const double*, Texts> values;
    std::vector<py::object> owners;
  };

  Column MakeColumn(const py::tuple& parts);

  std::vector<Column> columns_;
  int64_t rows_ = -1;
};

}  // namespace flotilla::python
