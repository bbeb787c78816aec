// Parses all rows of a file list without keeping them, to check whether they fit a model and to
// report what they contain.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "flotilla/base/log_line.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/dataset/parser.h"
#include "flotilla/dataset/prepare/line_pass.h"

namespace flotilla {

struct CheckRowsOptions {
  // Number of bad rows to tolerate; one more ends the check.
  int64_t max_bad_rows = 0;
  int threads = 1;
  // Its header lines and log are overwritten by those of the parser and by `log` below.
  LineReaderOptions reader;
  LogLine log;
  std::function<void(const PassProgress&)> on_progress;
};

struct CheckReport {
  // Id counts of an id input. All 0 for other inputs.
  struct Ids {
    int64_t all = 0;
    int64_t most = 0;   // maximum in one row
    int64_t empty = 0;  // rows without ids
    bool operator==(const Ids&) const = default;
  };

  int64_t lines = 0;  // lines checked, without header lines
  int64_t rows = 0;   // good rows; some lines hold none (blank, a comment)
  // Every bad row in the order of the files, as "<file>:<line>:<column>: <expected, found>"; at
  // most max_bad_rows + 1.
  std::vector<std::string> bad;
  bool complete = true;  // false: ended early, too many bad rows
  std::vector<Ids> ids;  // by input
};

// The result does not depend on the number of threads. Errors: those of reading, a wrong header
// line, and input without any row, good or bad.
StatusOr<CheckReport> CheckRows(const std::vector<std::string>& files, const Parser& parser,
                                const CheckRowsOptions& options);

}  // namespace flotilla
