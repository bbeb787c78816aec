// Prepares raw Criteo text for training: splits it into training and test rows, optionally coarsens
// numbers and rare categories, and computes statistics of the number columns. Works in a streaming
// fashion: memory does not grow with the input, only (with min_count) with the number of distinct
// categories.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/dataset/criteo_statistics.h"
#include "flotilla/dataset/prepare/line_pass.h"

namespace flotilla {

struct CriteoPrepareOptions {
  // Whether a line is a test row depends on (seed, its ordinal among all lines) only.
  uint64_t seed = 0;
  double test_share = 0.1;      // in [0, 1)
  int64_t part_rows = 100'000;  // rows per part file, >= 1

  enum class Buckets {
    kNone,
    kLog2,  // x above 2 becomes floor(ln(x)^2)
  };
  Buckets buckets = Buckets::kNone;
  // Categories that occur fewer than min_count times in a column of the training rows are replaced
  // by kRareCategory in that column, in training and test rows; missing values stay missing. Below
  // 2: all categories are kept. Requires a second pass over the input.
  int64_t min_count = 0;
  // Memory for counting categories; 0: as much as exact counts need. See ValueCounter.
  size_t memory_bytes = 0;

  int64_t max_bad_rows = 0;  // as in StreamOptions
  int threads = 1;           // the output does not depend on it
  LineReaderOptions reader;
  // Called by one thread at a time; `stage` is "count" or "write".
  std::function<void(std::string_view stage, const PassProgress&)> on_progress;
};

inline constexpr std::string_view kRareCategory = "rare";

struct CriteoPrepared {
  CriteoStatistics statistics;
  int64_t skipped = 0;               // bad rows
  std::vector<std::string> samples;  // the first few bad rows
  // With min_count only.
  int64_t rare_fields = 0;      // fields replaced by kRareCategory
  bool exact_counts = true;     // false: some rare categories may have been kept
  double likely_excess = 0;     // upper bound of the overcount, for 98 % of the categories
  int64_t distinct_values = 0;  // with exact counts only
};

// Writes out/train/part-000000 .., out/test/part-000000 .. (no test directory when the share is 0)
// and last out/statistics.json; either all of them appear at the end, or none. Rows keep their
// order. Errors name the file or option: a value out of range, standard input with min_count, an
// input without training rows, one bad row too many, an `out` that has files.
StatusOr<CriteoPrepared> PrepareCriteo(const std::vector<std::string>& files,
                                       const std::string& out, const CriteoPrepareOptions& options);

// floor(ln(x)^2) for x above 2, else x.
int64_t LogSquaredBucket(int64_t x);

}  // namespace flotilla
