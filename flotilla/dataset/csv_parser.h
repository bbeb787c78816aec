// Parses CSV and TSV: one row per line, with the columns of a CsvSchema. Quoted fields follow RFC
// 4180 but must end on the same line. A blank line is not a row.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/dataset/csv_schema.h"
#include "flotilla/dataset/parser.h"

namespace flotilla {

class CsvParser : public Parser {
 public:
  // `inputs` are those of schema.Inputs() in any order. InvalidArgument with the name of the input
  // when one is missing, unknown or of another kind or width, or when the schema is not valid.
  static StatusOr<std::unique_ptr<CsvParser>> Make(std::span<const InputSpec> inputs,
                                                   const CsvSchema& schema);

  std::span<const InputSpec> inputs() const override { return inputs_; }
  std::string identity() const override;
  int header_lines() const override { return schema_.header ? 1 : 0; }
  // The names of the columns must be those of the schema.
  Status CheckHeader(std::string_view line) const override;
  Status Parse(std::string_view line, Batch* batch) const override;

 private:
  // The field of one column in a line.
  struct Cell {
    std::string_view text;  // without quotes and the blanks around it
    size_t begin;           // offset in the line of the first byte of `text`
  };
  class Cells;

  CsvParser(std::span<const InputSpec> inputs, const CsvSchema& schema);
  Status FindFields();
  bool IsBlankLine(std::string_view line) const;
  bool IsMissing(std::string_view text) const;
  // Appends all columns to the fields. On an error some of them may have been appended.
  Status ParseColumns(std::string_view line, Batch* batch) const;
  Status AddCell(size_t column, const Cell& cell, Field* field) const;
  Status AddDense(size_t column, const Cell& cell, AlignedVector<float>* values) const;
  Status AddId(size_t column, const Cell& cell, std::vector<uint64_t>* ids) const;
  Status AddBag(size_t column, const Cell& cell, std::vector<uint64_t>* ids) const;
  Status AddLabel(size_t column, const Cell& cell, AlignedVector<float>* values) const;
  // "column 3 (age)"
  std::string NameOf(size_t column) const;

  const std::vector<InputSpec> inputs_;
  const CsvSchema schema_;
  std::vector<int> field_of_;         // by column: index of its input, -1 when ignored
  std::vector<uint64_t> hash_seeds_;  // by column: the hash of its name
  std::vector<int> bags_;             // the fields that keep offsets
};

}  // namespace flotilla
