// The pieces that hand-written parsers share: reading a number at a place in a line, and filling
// the row of a batch such that a bad line can be undone. Nothing here allocates but the text of
// errors.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <string>

#include "flotilla/tensor/batch.h"
#include "flotilla/tensor/input_spec.h"

namespace flotilla {

// A label is stored as float32, which holds every whole number up to this one.
inline constexpr uint64_t kMaxLabel = 1 << 24;

inline bool IsBlank(char c) { return c == ' ' || c == '\t'; }
inline bool IsDigit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

inline const char* SkipBlanks(const char* p, const char* end) {
  while (p < end && IsBlank(*p)) ++p;
  return p;
}

// Where the features of a libsvm or libffm line end.
inline bool AtEndOrComment(const char* p, const char* end) { return p == end || *p == '#'; }

namespace internal {

// The value of eight digits, the first in the lowest byte; the bytes are their values, not ASCII.
inline uint64_t ValueOfEightDigits(uint64_t digits) {
  digits = digits * 10 + (digits >> 8);  // each even byte: a number below 100
  return ((digits & 0x000000FF000000FF) * 0x000F424000000064 +
          ((digits >> 16) & 0x000000FF000000FF) * 0x0000271000000001) >>
         32;
}

}  // namespace internal

// Reads decimal digits from `p` on and returns where they end; *value is their value modulo 2^64, 0
// when there are none.
inline const char* ScanDigits(const char* p, const char* end, uint64_t* value) {
  uint64_t number = 0;
  if constexpr (std::endian::native == std::endian::little) {
    // Up to eight digits at once and without a branch per digit: the lengths of numbers are not
    // predictable, and a wrong guess costs more than the arithmetic.
    if (end - p >= 8) {
      uint64_t word;
      std::memcpy(&word, p, 8);
      word ^= 0x3030303030303030;
      // The high bit of every byte above 9, exact up to the first such byte.
      const uint64_t others = ((word + 0x7676767676767676) | word) & 0x8080808080808080;
      if (others != 0) {
        const int bits = std::countr_zero(others) & ~7;
        // In front of the digits come zeros. Two shifts, since one by 64 is not defined.
        *value = internal::ValueOfEightDigits(word << (32 - bits / 2) << (32 - bits / 2));
        return p + bits / 8;
      }
      number = internal::ValueOfEightDigits(word);
      p += 8;
    }
  }
  while (p < end && IsDigit(*p)) number = number * 10 + static_cast<uint64_t>(*p++ - '0');
  *value = number;
  return p;
}

namespace internal {
// ScanUint64 of 20 and more digits.
const char* ScanLongUint64(const char* p, const char* end, uint64_t* value);
}  // namespace internal

// Reads a whole number from 0 to 2^64 - 1 at `p`; returns where it ends, null when there is none or
// it is too large.
inline const char* ScanUint64(const char* p, const char* end, uint64_t* value) {
  const char* const stop = ScanDigits(p, end, value);
  if (stop == p) return nullptr;
  if (stop - p > 19) return internal::ScanLongUint64(p, end, value);
  return stop;
}

// Reads a decimal number ([+-] digits [. digits] [e [+-] digits], digits on one side of the point
// at least) at `p`: *value is the nearest double, 0 when it is too small for one. Returns where it
// ends, null when there is none (nan, inf and hexadecimal are none) or it is too large.
const char* ScanDouble(const char* p, const char* end, double* value);

// The nearest float32; false when its square is not finite in float32: optimizers keep sums of
// squares, and an infinite one would stop a weight for ever.
inline bool ToFloat(double number, float* value) {
  constexpr double kFirstTooLarge = 0x1.ffffffp63;  // rounds to 2^64
  if (!(number > -kFirstTooLarge && number < kFirstTooLarge)) return false;
  *value = static_cast<float>(number);
  return true;
}

// ScanDouble, then ToFloat.
inline const char* ScanFloat(const char* p, const char* end, float* value) {
  double number = 0;
  const char* const stop = ScanDouble(p, end, &number);
  return stop != nullptr && ToFloat(number, value) ? stop : nullptr;
}

// What to say behind a number at `p` that ScanFloat refuses: that it is too large, or nothing if
// there is none.
std::string_view TooLargeNote(const char* p, const char* end);

// What to show of a bad piece of a line that begins at `p`: enough to find it, on one line. It ends
// at `end` or at a blank.
std::string ShownWord(const char* p, const char* end);
// The same of all the text up to `end`.
std::string ShownText(const char* p, const char* end);

// The ids of a row of a bag (an id input with offsets) are pushed between these two. EndBag gives
// false when the batch has more ids than offsets can count.
inline void BeginBag(RaggedIds* ids) {
  if (ids->offsets.empty()) ids->offsets.push_back(0);
}
inline bool EndBag(RaggedIds* ids) {
  ids->offsets.push_back(static_cast<uint32_t>(ids->ids.size()));
  return ids->ids.size() <= std::numeric_limits<uint32_t>::max();
}

// Takes back what was appended to the fields after the last row that batch->rows counts.
void DropUnfinishedRow(std::span<const InputSpec> inputs, Batch* batch);

}  // namespace flotilla
