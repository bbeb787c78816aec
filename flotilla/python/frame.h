// The columns of a data frame as lines of CSV text: what the engine knows how to read. Values
// become the same text, and so the same ids, as in a file.
#pragma once

#include <pybind11/numpy.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "flotilla/dataset/array_rows.h"
#include "flotilla/python/bindings.h"

namespace flotilla::python {

// Keeps the arrays alive and copies none of them. All methods except the constructor and the
// destructor are called without the GIL and may be called by several threads.
class Frame {
 public:
  // `columns`: tuples (name, values) of an array of numbers or of Python objects (str; None or a
  // float for a missing value), or (name, codes, texts): codes of whole numbers, -1 for a missing
  // value, and the list of their texts. All of one length. Raises an error that names the column.
  explicit Frame(const py::list& columns);

  int64_t rows() const { return rows_; }
  // The names, as a line without its end.
  std::string Header(char delimiter) const;

  // Some consecutive rows, whose objects were looked at.
  class Part {
   public:
    // Appends a row of the frame to *line. REQUIRES: it is one of the part.
    void AppendRow(int64_t row, char delimiter, std::string* line) const;

   private:
    friend class Frame;
    const Frame* frame_ = nullptr;
    int64_t begin_ = 0;
    std::vector<std::vector<std::string_view>> texts_;  // by column; empty: not of objects
  };
  // Rows [begin, end). Takes the GIL if there are columns of objects. The part must not outlive the
  // frame. InvalidArgument with the name of the column if an object is not a text.
  StatusOr<Part> Look(int64_t begin, int64_t end) const;

  // Writes a file with a header.
  Status Write(const std::string& path) const;

 private:
  struct Coded {
    std::vector<std::string_view> texts;
    ArrayView codes;
  };
  struct Column {
    std::string name;
    std::variant<ArrayView, Coded, py::array> values;  // numbers, codes, objects
    bool is_float = false;
    bool is_uint64 = false;
    std::vector<py::object> owners;
  };

  Column MakeColumn(const py::tuple& parts);

  std::vector<Column> columns_;
  int64_t rows_ = -1;
};

}  // namespace flotilla::python
