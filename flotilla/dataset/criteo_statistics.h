// Statistics of the 13 number columns of a prepared Criteo data set: written by `flotilla data
// criteo` next to the rows, read by the parser of the rows. docs/data_formats.md describes the
// file.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "flotilla/base/status.h"
#include "flotilla/dataset/criteo_line.h"

namespace flotilla {

// All statistics are computed on the training rows, from the numbers as written in the prepared
// files.
struct CriteoStatistics {
  struct Column {
    int64_t count = 0;    // rows that have the number
    int64_t missing = 0;  // rows that do not have it
    int64_t min = 0;      // 0 when no row has the number; so is p95
    // The smallest value that at least 95 % of the numbers do not exceed.
    int64_t p95 = 0;
    bool exact = true;  // false: p95 may be up to 0.1 % too large

    // A model receives (x - min) / range(): 0 .. 1 for 95 % of the numbers, extremes lie outside.
    // The range of a constant column is 1.
    double range() const {
      const double diff = static_cast<double>(p95) - static_cast<double>(min);
      return diff > 0 ? diff : 1;
    }
    bool operator==(const Column&) const = default;
  };
  std::array<Column, kCriteoNumbers> columns;
  // How the files were prepared: informational, not used by the reader.
  int64_t train_rows = 0;
  int64_t test_rows = 0;
  uint64_t seed = 0;
  double test_share = 0;
  std::string buckets = "none";
  int64_t min_count = 0;

  bool operator==(const CriteoStatistics&) const = default;
};

// The content of the file, as JSON.
std::string ToText(const CriteoStatistics& statistics);

// InvalidArgument with the member and its expected value: not JSON, another format or version, not
// 13 columns, a value of another kind, counts below 0, a p95 below min.
StatusOr<CriteoStatistics> CriteoStatisticsFromText(std::string_view text);

// Reads the statistics from a file; errors start with its path.
StatusOr<CriteoStatistics> ReadCriteoStatistics(const std::string& path);

}  // namespace flotilla
