// Looks at files that nobody has described: which format they have, and which schema fits them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flotilla/base/interrupt.h"
#include "flotilla/base/status.h"
#include "flotilla/dataset/detect_format.h"
#include "flotilla/dataset/prepare/describe_columns.h"
#include "flotilla/dataset/prepare/infer_schema.h"
#include "flotilla/run/terminal.h"
#include "flotilla/run/train_options.h"

namespace flotilla {

struct LookOptions {
  const DataOptions* data = nullptr;  // how to access the bytes
  int threads = 1;
  int64_t max_rows = 0;                  // look at about the first N rows (0: all)
  const Interrupt* interrupt = nullptr;  // null: none
};

// The file whose first lines tell how all files are written: the first one with at least two rows,
// since parts of a data set may be empty or have only a header; else the first one.
StatusOr<std::string> FileToLookAt(const std::vector<std::string>& files,
                                   const LookOptions& options);

// The format of the first lines of a file.
StatusOr<DetectedFormat> LookAtFormat(const std::string& file, const LookOptions& options);

// How a file is written; logs the decision. InvalidArgument if it is not CSV or TSV.
StatusOr<DetectedCsv> LookAtForm(const std::string& file, const LookOptions& options,
                                 Terminal& terminal);

// What the columns hold; logs bad rows.
StatusOr<TableSummary> LookAtColumns(const std::vector<std::string>& files, const DetectedCsv& form,
                                     const LookOptions& options, Terminal& terminal);

// The text of the schema that fits the files: for raw Criteo rows the built-in one, unless `label`
// is given, otherwise the one inferred from the columns (dataset/prepare/infer_schema.h).
StatusOr<std::string> InferSchemaText(const std::vector<std::string>& files,
                                      const std::string& label, const LookOptions& options,
                                      Terminal& terminal, LabelChoice* choice = nullptr);

// InvalidArgument if one of the files is standard input, which cannot be read twice.
Status CheckReadTwice(const std::vector<std::string>& files);

}  // namespace flotilla
