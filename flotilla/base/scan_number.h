// Reads a number at a position in a text: the building blocks of parsers, which read millions of
// them per second. Nothing here allocates except for error texts.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace flotilla {

// A label is stored as float32, which holds every whole number up to this one.
inline constexpr uint64_t kMaxLabel = 1 << 24;

inline bool IsBlank(char c) { return c == ' ' || c == '\t'; }
inline bool IsDigit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

inline const char* SkipBlanks(const char* p, const char* end) {
  while (p < end && IsBlank(*p)) ++p;
  return p;
}

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
    // Reads up to eight digits at once without a branch per digit: the lengths of numbers are not
    // predictable, and a branch misprediction costs more than the arithmetic.
    if (end - p >= 8) {
      uint64_t word;
      std::memcpy(&word, p, 8);
      word ^= 0x3030303030303030;
      // The high bit of every byte above 9, exact up to the first such byte.
      const uint64_t others = ((word + 0x7676767676767676) | word) & 0x8080808080808080;
      if (others != 0) {
        const int bits = std::countr_zero(others) & ~7;
        // Pads the digits with leading zeros. Two shifts, since a shift by 64 is undefined.
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
// ScanUint64 for 20 and more digits.
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
// ends, null when there is no number (nan, inf and hexadecimal do not count) or it is too large.
const char* ScanDouble(const char* p, const char* end, double* value);

// Rounds to the nearest float32; false when its square is not finite in float32: optimizers keep
// sums of squares, and an infinite sum would freeze a weight forever.
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

// Error text to append for a number at `p` that ScanFloat rejects: that it is too large, or nothing
// if there is no number.
std::string_view TooLargeNote(const char* p, const char* end);

// Excerpt of the bad word of a line that begins at `p`, for error messages: enough to find it, on
// one line. The word ends at `end` or at a blank.
std::string ShownWord(const char* p, const char* end);
// Like ShownWord, for all text up to `end`.
std::string ShownText(const char* p, const char* end);

}  // namespace flotilla
