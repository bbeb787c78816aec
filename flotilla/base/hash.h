// Fixed hash functions. Their values are part of the file formats and of the rule that results
// repeat, so they never change: every process, on every machine, agrees on them.
#pragma once

#include <cstdint>
#include <string_view>

namespace flotilla {

// XXH64 of the bytes.
uint64_t HashBytes(std::string_view bytes, uint64_t seed = 0);

// A bijective mix of 64 bits (the finaliser of SplitMix64): equal spread for neighbouring inputs.
constexpr uint64_t Mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

}  // namespace flotilla
