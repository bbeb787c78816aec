// Looks at every column of CSV and TSV files: what kind of values it has, how many, which. One
// parallel pass in bounded memory.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/log_line.h"
#include "flotilla/base/status.h"
#include "flotilla/dataset/detect_format.h"
#include "flotilla/dataset/prepare/line_pass.h"
#include "flotilla/schema/time_value.h"

namespace flotilla {

struct ColumnSummary {
  std::string name;
  int64_t count = 0;      // values that are not missing
  int64_t missing = 0;    // empty, NaN, None, or one of the usual markers
  int64_t whole = 0;      // values that are whole numbers
  int64_t fractions = 0;  // other numbers
  // Values like 12,50: among the fractions if a comma does not separate columns, else words.
  int64_t decimal_commas = 0;
  // The time formats that all values have, without kAny.
  std::vector<TimeFormat> times;
  double min = 0;  // of the numbers
  double max = 0;
  double mean = 0;
  // Distinct values; when `at_least`, there are more than were counted.
  int64_t distinct = 0;
  bool at_least = false;
  // The most frequent of the first values that were seen, with their counts.
  std::vector<std::pair<std::string, int64_t>> top;

  int64_t words() const { return count - whole - fractions; }
};

struct TableSummary {
  int64_t rows = 0;
  int64_t bad_rows = 0;              // with another number of columns, or malformed quotes
  std::vector<std::string> bad;      // the first of them, with file, line and column
  std::vector<std::string> markers;  // usual texts for a missing value that occur: "?", "NA", ..
  std::vector<ColumnSummary> columns;
  bool complete = true;  // false: max_rows ended it
};

struct DescribeOptions {
  int threads = 1;
  int64_t max_rows = 0;  // look at about the first N rows only (0: all)
  size_t top = 1000;     // entries of ColumnSummary::top
  // Its header lines and log are overwritten.
  LineReaderOptions reader;
  LogLine log;
  std::function<void(const PassProgress&)> on_progress;
};

// The result does not depend on the number of threads. Errors: those of reading, a header that
// lacks one of the columns, no row.
StatusOr<TableSummary> DescribeColumns(const std::vector<std::string>& files,
                                       const DetectedCsv& form, const DescribeOptions& options);

}  // namespace flotilla
