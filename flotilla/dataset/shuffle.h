// Random orders of rows: pure functions of a key, so they are reproducible.
#pragma once

#include <cstdint>
#include <vector>

#include "flotilla/base/rng.h"

namespace flotilla {

// Fills `order` with the numbers 0 .. rows - 1 in a random order, each order equally likely.
// REQUIRES: rows < 2^32.
inline void ShuffledOrder(const RngKey& key, uint64_t rows, std::vector<uint32_t>* order) {
  order->resize(rows);
  // Fisher-Yates from the inside out: row i goes to a random place among the first i + 1.
  for (uint64_t i = 0; i < rows; ++i) {
    const uint64_t j = key.Below(i, i + 1);
    (*order)[i] = (*order)[j];
    (*order)[j] = static_cast<uint32_t>(i);
  }
}

// The key of an epoch whose rows are shuffled as a whole.
inline RngKey EpochKey(uint64_t seed, int64_t epoch) {
  return RngKey(seed).With("shuffle").With(static_cast<uint64_t>(epoch));
}

// The key of window `window` of reader `lane` in an epoch of a stream.
inline RngKey WindowKey(uint64_t seed, int64_t epoch, int64_t lane, int64_t window) {
  return RngKey(seed)
      .With("window")
      .With(static_cast<uint64_t>(epoch))
      .With(static_cast<uint64_t>(lane))
      .With(static_cast<uint64_t>(window));
}

}  // namespace flotilla
