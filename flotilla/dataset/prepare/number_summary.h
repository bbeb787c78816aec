// Computes the minimum and percentiles of many whole numbers in bounded memory: exact while there
// are few distinct numbers, then in steps of 0.1 %. Designed for number columns, whose values
// mostly repeat.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>

#include "absl/container/flat_hash_map.h"

namespace flotilla {

// Thread-safe while numbers are added. Results do not depend on the order of insertion.
class NumberSummary {
 public:
  // Maximum number of distinct numbers that are kept exactly: at most 9 MB.
  static constexpr size_t kMaxDistinct = 458'752;

  // REQUIRES: max_distinct >= 110'000, the maximum number of steps.
  explicit NumberSummary(size_t max_distinct = kMaxDistinct) : max_distinct_(max_distinct) {}

  void Add(std::span<const int64_t> numbers);

  int64_t count() const { return count_; }
  // 0 when there are none.
  int64_t min() const { return count_ == 0 ? 0 : min_; }
  // The smallest number that at least `percent` % of all numbers do not exceed; 0 when there are no
  // numbers. Unless exact(), up to 0.1 % too large. REQUIRES: 0 < percent <= 100.
  int64_t Percentile(int percent) const;
  bool exact() const { return exact_; }

 private:
  void Coarsen();

  const size_t max_distinct_;
  std::mutex mutex_;
  // Guarded by mutex_ while numbers are added.
  absl::flat_hash_map<int64_t, int64_t> counts_;  // by number or, unless exact, by step
  int64_t count_ = 0;
  int64_t min_ = INT64_MAX;
  int64_t max_ = INT64_MIN;
  bool exact_ = true;
};

}  // namespace flotilla
