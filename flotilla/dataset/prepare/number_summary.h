// Computes the minimum and percentiles of many whole numbers in bounded memory: exact while there
// are few distinct numbers, then in steps of 0.1 %. Designed for number columns, whose values
// mostly repeat.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/container/flat_hash_map.h"
#include "flotilla/base/mutex.h"

namespace flotilla {

// Thread-safe. Results do not depend on the order of insertion.
class NumberSummary {
 public:
  // Maximum number of distinct numbers that are kept exactly: at most 9 MB.
  static constexpr size_t kMaxDistinct = 458'752;

  // REQUIRES: max_distinct >= 110'000, the maximum number of steps.
  explicit NumberSummary(size_t max_distinct = kMaxDistinct) : max_distinct_(max_distinct) {}

  void Add(std::span<const int64_t> numbers);

  int64_t count() const {
    MutexLock lock(mutex_);
    return count_;
  }
  // 0 when there are none.
  int64_t min() const {
    MutexLock lock(mutex_);
    return count_ == 0 ? 0 : min_;
  }
  // The smallest number that at least `percent` % of all numbers do not exceed; 0 when there are no
  // numbers. Unless exact(), up to 0.1 % too large. REQUIRES: 0 < percent <= 100.
  int64_t Percentile(int percent) const;
  bool exact() const {
    MutexLock lock(mutex_);
    return exact_;
  }

 private:
  void Coarsen() FL_REQUIRES(mutex_);

  const size_t max_distinct_;
  mutable Mutex mutex_;
  // By number or, unless exact, by step.
  absl::flat_hash_map<int64_t, int64_t> counts_ FL_GUARDED_BY(mutex_);
  int64_t count_ FL_GUARDED_BY(mutex_) = 0;
  int64_t min_ FL_GUARDED_BY(mutex_) = INT64_MAX;
  int64_t max_ FL_GUARDED_BY(mutex_) = INT64_MIN;
  bool exact_ FL_GUARDED_BY(mutex_) = true;
};

}  // namespace flotilla
