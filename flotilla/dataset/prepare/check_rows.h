// Parses all rows of a file list and keeps none: whether they fit a model, and what they hold.
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
  // Go on after so many bad rows; one more ends the check.
  int64_t max_bad_rows = 0;
  int threads = 1;
  LineReaderOptions reader;  // its headings are set to the parser's, its log to the one below
  LogLine log;
  std::function<void(const PassProgress&)> on_progress;
};

struct CheckReport {
  // What an id input held. For other inputs all is 0.
  struct Ids {
    int64_t all = 0;
    int64_t most = 0;   // in one row
    int64_t empty = 0;  // rows without any
    bool operator==(const Ids&) const = default;
  };

  int64_t lines = 0;  // that were looked at, without headings
  int64_t rows = 0;   // good ones; a line may be none (blank, a comment)
  // Every bad row in the order of the files, as "<file>:<line>:<column>: <expected, found>"; at
  // most max_bad_rows + 1.
  std::vector<std::string> bad;
  bool complete = true;  // false: ended at one bad row too many
  std::vector<Ids> ids;  // by input
};

// Does not depend on the threads. Errors are those of reading, of a heading, and that there was
// neither a row nor a bad one.
StatusOr<CheckReport> CheckRows(const std::vector<std::string>& files, const Parser& parser,
                                const CheckRowsOptions& options);

}  // namespace flotilla
