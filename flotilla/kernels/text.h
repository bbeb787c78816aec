// What reading text spends its time on, many bytes or many fields at once.
#pragma once

#include <cstdint>
#include <string_view>

namespace flotilla::kernels {

// The positions of a byte in a text, in ascending order: positions[0 .. n) of the n that there are.
// Returns n, or -1 when there are more than `limit`; positions are then unspecified.
// REQUIRES: positions has room for limit + kPositionSlack; text.size() < 2^32.
inline constexpr int64_t kPositionSlack = 8;
int64_t FindByte(std::string_view text, char byte, int64_t limit, uint32_t* positions);

// The fields of a line, many at once: field i lies between two separators, from separators[i] + 1
// to separators[i + 1]. Both functions return which fields are not of their kind, one bit each.
// REQUIRES: n is a multiple of 8, at most 32; text.size() >= 8.

// hashes[i] = XXH64, with seed 0, of the two low bytes of twos[i] and then those of field i, which
// must have eight. What a field of another length hashes to is unspecified.
uint32_t HashFieldsOfEight(std::string_view text, const uint32_t* separators, int n,
                           const uint64_t* twos, uint64_t* hashes);

// values[i] = field i as a whole number, [-]digits of at most seven characters, followed by enough
// text that eight bytes can be read; nothing is 0. What any other field gives is unspecified.
uint32_t ReadShortNumbers(std::string_view text, const uint32_t* separators, int n,
                          int32_t* values);

}  // namespace flotilla::kernels
