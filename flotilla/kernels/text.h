// Vectorized inner loops of text parsing, which process many bytes or many fields at once.
#pragma once

#include <cstdint>
#include <string_view>

namespace flotilla::kernels {

// Finds all n occurrences of a byte in a text: positions[0 .. n) in ascending order. Returns n, or
// -1 when there are more than `limit`; positions are then unspecified.
// REQUIRES: positions has room for limit + kPositionSlack; text.size() < 2^32.
inline constexpr int64_t kPositionSlack = 8;
int64_t FindByte(std::string_view text, char byte, int64_t limit, uint32_t* positions);

// Processes many fields of a line at once: field i lies between two separators, from separators[i]
// + 1 to separators[i + 1]. Both functions return a bit mask of the fields that they cannot handle:
// bit i is set for field i.
// REQUIRES: n is a multiple of 8, at most 32; text.size() >= 8.

// hashes[i] = XXH64, with seed 0, of the two low bytes of twos[i] followed by the bytes of field i,
// which must be eight. The hash of a field of another length is unspecified.
uint32_t HashFieldsOfEight(std::string_view text, const uint32_t* separators, int n,
                           const uint64_t* twos, uint64_t* hashes);

// values[i] = field i as a whole number, [-]digits of at most seven characters, followed by enough
// text that eight bytes can be read; an empty field is 0. The value of any other field is
// unspecified.
uint32_t ReadShortNumbers(std::string_view text, const uint32_t* separators, int n,
                          int32_t* values);

}  // namespace flotilla::kernels
