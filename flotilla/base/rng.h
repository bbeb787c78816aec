// Counter-based random numbers: a value is a pure function of a key and a counter, so it does not
// depend on threads, on arrival order or on what was drawn before. A key is built from the parts
// that identify a draw, for example RngKey(seed).With("emb").With(id).
//
// The generator is SplitMix64 in counter mode: Mix64(key + counter * odd constant).
#pragma once

#include <cstdint>
#include <string_view>

#include "flotilla/base/hash.h"

namespace flotilla {

class RngKey {
 public:
  explicit constexpr RngKey(uint64_t seed) : bits_(Mix64(seed + kGolden)) {}

  // Derives the key of a part of the object that this key identifies. With(a).With(b) differs from
  // With(b).With(a).
  constexpr RngKey With(uint64_t part) const { return RngKey(bits_ ^ Mix64(part + kGolden)); }
  RngKey With(std::string_view part) const { return With(HashBytes(part)); }

  // 64 uniform bits.
  constexpr uint64_t Bits(uint64_t counter) const { return Mix64(bits_ + (counter + 1) * kGolden); }

  // Uniform in [0, 1), 24 bits: every value is exact in float32.
  constexpr float Uniform(uint64_t counter) const {
    return static_cast<float>(Bits(counter) >> 40) * 0x1p-24f;
  }

  // Uniform integer in [0, bound). REQUIRES: bound > 0.
  constexpr uint64_t Below(uint64_t counter, uint64_t bound) const {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Bits(counter)) * bound) >> 64);
  }

  // Standard normal (Box-Muller on the two halves of one draw).
  float Normal(uint64_t counter) const;

 private:
  static constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ull;
  uint64_t bits_;
};

}  // namespace flotilla
