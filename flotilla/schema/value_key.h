// The 64-bit keys of values, by which vocabularies are counted and found. A key depends only on the
// value and on the name of its vocabulary; it is part of saved models, so it never changes.
#pragma once

// Inlines the hash: values are short, so a function call would take longer than the hash itself.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cmath>
#include <cstdint>
#include <string_view>

#include "flotilla/base/hash.h"

namespace flotilla {

// XXH64 of the text; `seed` is HashBytes(name of the vocabulary).
inline uint64_t KeyOfText(std::string_view text, uint64_t seed) {
  return XXH64(text.data(), text.size(), seed);
}

// The key of a whole number, such as that of a bucket.
inline uint64_t KeyOfWhole(int64_t value, uint64_t seed) {
  return Mix64(static_cast<uint64_t>(value) * 0x9e3779b97f4a7c15ull ^ seed);
}

// The key of a combination, to which members are added one by one, the first to the seed.
inline uint64_t KeyOfCross(uint64_t before, uint64_t member) {
  return Mix64((before ^ member) * 0x9e3779b97f4a7c15ull + (before >> 32));
}

// The bucket of a number as in the usual Criteo recipe: floor(ln(x)^2) above 2, else floor(x).
// Numbers up to 2 have negative bucket numbers, because 1 and 3 (ln(3)^2 = 1.2) are not the same.
// REQUIRES: number is finite.
inline int64_t LogBucket(double number) {
  if (number <= 2) return static_cast<int64_t>(std::floor(std::fmax(number, -0x1p62))) - 3;
  const double log = std::log(number);
  return static_cast<int64_t>(log * log);
}

}  // namespace flotilla
