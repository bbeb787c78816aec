// How rows become batches: the options that every dataset has.
#pragma once

#include <cstdint>
#include <limits>

#include "flotilla/base/status.h"

namespace flotilla {

// Of BatchOptions::shuffle_rows: one window for all rows of an epoch. For rows in memory only.
inline constexpr int64_t kWholeEpoch = std::numeric_limits<int64_t>::max();

struct BatchOptions {
  int64_t batch_size = 1000;
  // Drop the last batch of an epoch (of each reader) when it is shorter than batch_size.
  bool drop_last = false;
  // Shuffle within windows of this many rows, rounded up to whole batches, which are then in
  // memory; 0: keep the order of the source. The order is a pure function of (seed, epoch, window).
  int64_t shuffle_rows = 0;
  uint64_t seed = 0;
  // Having no files, no rows or no whole batch is not an error: for one of several trainers, and
  // for callers that read only part of the data.
  bool allow_empty = false;

  // Number of batches per window; 0: no shuffle. REQUIRES: Check() is ok.
  int64_t window_batches() const {
    if (shuffle_rows == kWholeEpoch) return kWholeEpoch / batch_size;
    return (shuffle_rows + batch_size - 1) / batch_size;
  }

  // InvalidArgument that names the option that is out of range.
  Status Check(bool in_memory = false) const {
    constexpr int64_t kMaxWindow = int64_t{1} << 31;
    if (batch_size < 1) return InvalidArgument("dataset: batch_size {} is less than 1", batch_size);
    if (in_memory && shuffle_rows == kWholeEpoch) return absl::OkStatus();
    if (shuffle_rows < 0 || shuffle_rows > kMaxWindow) {
      return InvalidArgument("dataset: shuffle_rows {} is not in 0 .. {}", shuffle_rows,
                             kMaxWindow);
    }
    return absl::OkStatus();
  }
};

}  // namespace flotilla
