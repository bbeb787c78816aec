// Quantiles of many numbers in bounded memory: exact while there are few distinct numbers, then of
// numbers rounded to fewer binary digits. NumberSummary does the same for whole numbers of 64 bits,
// which a double does not hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "flotilla/base/mutex.h"

namespace flotilla {

// Thread-safe. Results do not depend on the order of insertion.
class QuantileSummary {
 public:
  static constexpr size_t kMaxDistinct = 200'000;

  explicit QuantileSummary(size_t max_distinct = kMaxDistinct) : max_distinct_(max_distinct) {}

  // REQUIRES: the numbers are finite.
  void Add(std::span<const double> numbers);

  // At most `parts` - 1 ascending numbers that split all numbers into parts of nearly equal size: a
  // number x belongs to part k when borders[k - 1] <= x < borders[k]. No part is empty, so there
  // are fewer where one number occurs often. Empty when all numbers are the same.
  std::vector<double> Borders(int64_t parts) const;
  bool exact() const {
    MutexLock lock(mutex_);
    return dropped_bits_ == 0;
  }

 private:
  // The number with its last `dropped_bits_` binary digits set to 0.
  double Rounded(double number) const FL_REQUIRES(mutex_);
  void Coarsen() FL_REQUIRES(mutex_);

  const size_t max_distinct_;
  mutable Mutex mutex_;
  absl::flat_hash_map<double, int64_t> counts_ FL_GUARDED_BY(mutex_);
  int64_t count_ FL_GUARDED_BY(mutex_) = 0;
  int dropped_bits_ FL_GUARDED_BY(mutex_) = 0;
};

}  // namespace flotilla
