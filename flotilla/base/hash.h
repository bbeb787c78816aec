// Fixed hash functions. Their values are part of the file formats and of the guarantee that results
// are reproducible, so they never change and are the same in every process on every machine.
#pragma once

#include <cstdint>
#include <string_view>

namespace flotilla {

// XXH64 of the bytes.
uint64_t HashBytes(std::string_view bytes, uint64_t seed = 0);

// A bijective mix of 64 bits (the finaliser of SplitMix64): neighbouring inputs are spread evenly.
constexpr uint64_t Mix64(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

}  // namespace flotilla
