// What is known of the 13 number columns of a prepared Criteo data set: written by `flotilla data
// criteo` beside the rows, read by whoever parses them. docs/data_formats.md describes the file.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "flotilla/base/status.h"
#include "flotilla/dataset/criteo_line.h"

namespace flotilla {

// All of it is of the training rows, and of the numbers as the prepared files have them.
struct CriteoStatistics {
  struct Column {
    int64_t count = 0;    // rows that have the number
    int64_t missing = 0;  // rows that do not
    int64_t min = 0;      // 0 when no row has it, and so below
    // The smallest value that at least 95 % of the numbers do not exceed.
    int64_t p95 = 0;
    bool exact = true;  // false: p95 may be up to 0.1 % too large

    // (x - min) / range() is what a model is given: 0 .. 1 for 95 % of the numbers, the extremes
    // outside. A column without spread is divided by 1.
    double range() const {
      const double diff = static_cast<double>(p95) - static_cast<double>(min);
      return diff > 0 ? diff : 1;
    }
    bool operator==(const Column&) const = default;
  };
  std::array<Column, kCriteoNumbers> columns;
  // How the files were prepared; for people, the reader has no use for it.
  int64_t train_rows = 0;
  int64_t test_rows = 0;
  uint64_t seed = 0;
  double test_share = 0;
  std::string buckets = "none";
  int64_t min_count = 0;

  bool operator==(const CriteoStatistics&) const = default;
};

// The file's text: JSON.
std::string ToText(const CriteoStatistics& statistics);

// InvalidArgument that names the member and what it should be: no JSON, another format or version,
// not 13 columns, a value of another kind, counts below 0, a p95 below min.
StatusOr<CriteoStatistics> CriteoStatisticsFromText(std::string_view text);

// The same from a file; errors start with its path.
StatusOr<CriteoStatistics> ReadCriteoStatistics(const std::string& path);

}  // namespace flotilla
