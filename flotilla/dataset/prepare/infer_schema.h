// Writes the schema of a table from what its columns hold. docs/data_formats.md states the rules.
#pragma once

#include <string>

#include "flotilla/base/status.h"
#include "flotilla/dataset/detect_format.h"
#include "flotilla/dataset/prepare/describe_columns.h"

namespace flotilla {

// "words", "whole numbers", "numbers", "time" or "nothing".
std::string TypeOf(const ColumnSummary& column);

// Which column was taken for the label.
struct LabelChoice {
  std::string column;
  std::string reason;   // "its name says so"
  std::string warning;  // other columns that may be the label; empty: none
};

// The text of a schema in words, a column per line, with comments of what was seen. `label` is the
// name of the label's column; empty: the one whose name says so (label, click, target, ..), else
// the last, else the first that has two values. InvalidArgument when there is none, with the
// columns. `choice` may be null.
StatusOr<std::string> InferSchema(const TableSummary& table, const DetectedCsv& form,
                                  const std::string& label, LabelChoice* choice = nullptr);

}  // namespace flotilla
