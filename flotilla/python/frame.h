// The columns of a data frame as texts, a few thousand rows at a time: what the engine reads from
// the fields of a CSV file. Values become the same text, and so the same ids, as in a file.
#pragma once

#include <pybind11/numpy.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "flotilla/dataset/array_rows.h"
#include "flotilla/python/bindings.h"

namespace flotilla::python {

// Keeps the arrays alive and copies none of them but the texts of categories. All methods except
// the constructor and the destructor are called without the GIL and may be called by several
// threads.
class Frame {
 public:
  // `columns`: tuples (name, values) of an array of numbers or of Python objects (str; None or a
  // float for a missing value), or (name, codes, texts): codes of whole numbers, -1 for a missing
  // value, and the list of their texts. All of one length. Raises an error that names the column.
  explicit Frame(const py::list& columns);

  int64_t rows() const { return rows_; }
  const std::vector<std::string>& names() const { return names_; }

  // The texts of some consecutive rows; empty: missing. Reuses its memory. They are valid until the
  // next Look and while the frame is.
  class Part {
   public:
    // By row, from the first one that was looked at. REQUIRES: the column was asked for.
    std::span<const std::string_view> texts(size_t column) const { return texts_[column]; }

   private:
    friend class Frame;
    std::vector<std::vector<std::string_view>> texts_;  // by column
    std::vector<char> numbers_;                         // the texts of numbers
    std::deque<std::string> copies_;
    std::vector<int64_t> ints_;
    std::vector<double> doubles_;
  };
  // Rows [begin, end) of these columns. Takes the GIL if one of them is of objects. InvalidArgument
  // with the name of the column if an object is not a text.
  Status Look(int64_t begin, int64_t end, std::span<const size_t> columns, Part* part) const;

  // The texts of a column of categories; empty: it is another column.
  std::span<const std::string_view> categories(size_t column) const;
  // The numbers of the categories of rows [begin, begin + to.size()), negative for a missing value.
  // REQUIRES: it is a column of categories.
  void ReadCodes(size_t column, int64_t begin, std::span<int64_t> to) const;

  // Writes a file with a header, separated by commas. Raises what a signal handler raises.
  Status Write(const std::string& path) const;

 private:
  struct Coded {
    std::vector<std::string_view> texts;  // in bytes
    std::unique_ptr<char[]> bytes;
    ArrayView codes;
  };
  struct Column {
    std::variant<ArrayView, Coded, py::array> values;  // numbers, codes, objects
    bool is_float = false;
    bool is_uint64 = false;
    std::vector<py::object> owners;
  };

  Column MakeColumn(const std::string& name, const py::tuple& parts);
  static void AddTexts(const std::string& name, const py::list& texts, Coded* coded);
  Status LookAtObjects(size_t column, int64_t begin, int64_t end, Part* part) const;
  static char* WriteNumbers(const Column& column, int64_t begin, int64_t end, char* to, Part* part,
                            std::vector<std::string_view>* texts);

  std::vector<std::string> names_;
  std::vector<Column> columns_;
  int64_t rows_ = -1;
};

}  // namespace flotilla::python
