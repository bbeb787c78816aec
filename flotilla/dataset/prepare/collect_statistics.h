// Collects what a schema needs to know about the training files, in one parallel pass with bounded
// memory: vocabularies, borders, means, and what the label is.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "flotilla/base/log_line.h"
#include "flotilla/base/status.h"
#include "flotilla/dataset/prepare/line_pass.h"
#include "flotilla/schema/fitted_schema.h"
#include "flotilla/schema/schema.h"
#include "flotilla/schema/statistics.h"

namespace flotilla {

struct CollectOptions {
  int threads = 1;
  // Number of bad rows to skip; one more is an error. They are rows that training skips, too.
  int64_t max_bad_rows = 0;
  // Memory for the exact counts of one vocabulary, whose values take 30 bytes each. A vocabulary
  // that needs more is not counted: its ids are 64-bit hashes, and the log says so.
  size_t vocabulary_bytes = size_t{512} << 20;
  // Its header lines and log are overwritten.
  LineReaderOptions reader;
  LogLine log;
  std::function<void(const PassProgress&)> on_progress;
};

// The result does not depend on the number of threads. Errors: those of reading, a header that does
// not fit the schema, more bad rows than allowed (the message has file, line and column), no row,
// a label with one value only, or whose values contradict each other or its task.
StatusOr<Statistics> CollectStatistics(const std::vector<std::string>& files, const Schema& schema,
                                       const CollectOptions& options);

// The files as the statistics name them: without directories.
std::vector<Statistics::File> FilesOfStatistics(const std::vector<std::string>& files);

// The schema with its statistics from the file `statistics_path` if there is one that fits the
// schema and the training files; otherwise collects them and writes them there, and the log says
// why a file was replaced. With an empty path they are collected and not written.
StatusOr<FittedSchema> FitSchema(const Schema& schema, const std::string& statistics_path,
                                 const std::vector<std::string>& files,
                                 const CollectOptions& options);

}  // namespace flotilla
