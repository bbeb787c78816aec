// Parses CSV and TSV: one row per line, split into fields (csv_fields.h) that the encoder of a
// schema turns into ids and numbers. A blank line is not a row.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/dataset/csv_fields.h"
#include "flotilla/dataset/kept_texts.h"
#include "flotilla/dataset/parser.h"
#include "flotilla/schema/encoder.h"
#include "flotilla/schema/fitted_schema.h"

namespace flotilla {

// For rows that are scored.
struct CsvOptions {
  // Inputs of labels, the weight and the group that the rows do not have (AbsentInputs): rows get
  // the values that Encoder gives them.
  std::vector<std::string> absent;
  // If not null, it gets the texts of the columns with the role `keep`, one text per row:
  // CsvParser::KeptNames() in their order, separated by tabs; a tab inside a text becomes a blank.
  // The parser then fills one more input after the others, with the key of the text as its one id.
  // Such rows must not be cached.
  std::shared_ptr<KeptTexts> kept;
};

// csv_fields.h says how columns are found. Without the inputs of labels, the weight and the group,
// those columns may be absent.
class CsvParser : public Parser {
 public:
  // `inputs` are those of schema.Inputs() in any order; see Encoder::Make. Errors begin with "csv:
  // ".
  static StatusOr<std::unique_ptr<CsvParser>> Make(std::span<const InputSpec> inputs,
                                                   const FittedSchema& schema,
                                                   const CsvOptions& options = {});
  // For schemas that need no statistics.
  static StatusOr<std::unique_ptr<CsvParser>> Make(std::span<const InputSpec> inputs,
                                                   const Schema& schema);

  std::span<const InputSpec> inputs() const override { return inputs_; }
  std::string identity() const override;
  int header_lines() const override { return schema_.header ? 1 : 0; }
  Status CheckHeader(std::string_view line) const override { return fields_.CheckHeader(line); }
  Status Parse(std::string_view line, Batch* batch) const override;
  std::string TakeNote() const override;

  const Encoder& encoder() const { return *encoder_; }

  // The names of the columns with the role `keep`, in the order of the schema.
  std::vector<std::string> KeptNames() const;

 private:
  CsvParser(std::unique_ptr<Encoder> encoder, const CsvOptions& options);
  std::string KeptText(const CsvRow& row) const;

  const std::unique_ptr<Encoder> encoder_;
  const CsvOptions options_;
  const Schema& schema_;  // of the encoder
  const CsvFields fields_;
  std::vector<InputSpec> inputs_;
  std::vector<int> kept_sources_;  // of the columns with the role `keep`
};

// Which of the inputs of labels, the weight and the group a file with this header line lacks: those
// that a caller that scores leaves out. Empty when the schema has no header.
StatusOr<std::vector<std::string>> AbsentInputs(const Schema& schema, std::string_view header);

}  // namespace flotilla
