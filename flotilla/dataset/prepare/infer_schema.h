// Writes the schema of a table from what its columns hold. docs/data_formats.md states the rules.
#pragma once

#include <string>

#include "flotilla/base/status.h"
#include "flotilla/dataset/detect_format.h"
#include "flotilla/dataset/prepare/describe_columns.h"

namespace flotilla {

// "words", "whole numbers", "numbers", "time" or "nothing".
std::string TypeOf(const ColumnSummary& column);

// The text of a schema in words, a column per line, with comments of what was seen. `label` is the
// name of the label's column; empty: the one whose name says so (label, click, target, ..), else
// the last, else the first that has two values. InvalidArgument when there is none, with the
// columns.
StatusOr<std::string> InferSchema(const TableSummary& table, const DetectedCsv& form,
                                  const std::string& label);

}  // namespace flotilla
