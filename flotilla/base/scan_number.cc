#include "flotilla/base/scan_number.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>

#include "flotilla/base/utf8.h"

namespace flotilla {
namespace {

constexpr size_t kMaxShown = 40;
// 10^22 is the largest power of ten that is exact in a double.
constexpr int kMaxExactPower = 22;
// All whole numbers up to this one are exact in a double.
constexpr uint64_t kMaxExactInteger = 1ull << 53;
constexpr ptrdiff_t kMaxDigits = 19;  // a number with this many digits fits in 64 bits

constexpr std::array<double, kMaxExactPower + 1> kPowers = {
    1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

constexpr std::array<uint64_t, kMaxDigits> kWholePowers = [] {
  std::array<uint64_t, kMaxDigits> powers{};
  uint64_t power = 1;
  for (uint64_t& each : powers) {
    each = power;
    power *= 10;
  }
  return powers;
}();

// Returns the end of the exponent that begins with the 'e' at `p`; `p` itself when no digits
// follow, since the 'e' is not part of the number then.
const char* EndOfExponent(const char* p, const char* end) {
  const char* at = p + 1;
  if (at < end && (*at == '-' || *at == '+')) ++at;
  const char* const digits = at;
  while (at < end && IsDigit(*at)) ++at;
  return at == digits ? p : at;
}

// Whether the number [p, end), which is out of range for a double, is too small rather than too
// large.
bool IsTiny(const char* p, const char* end) {
  int64_t exponent = 0;  // exponent of the first nonzero digit
  bool after_point = false, after_digit = false;
  for (; p < end && *p != 'e' && *p != 'E'; ++p) {
    if (*p == '.') {
      after_point = true;
      continue;
    }
    after_digit |= *p != '0';
    if (after_digit && !after_point) ++exponent;
    if (!after_digit && after_point) --exponent;
  }
  if (p == end) return exponent < 0;
  const bool negative = *++p == '-';
  int64_t written = 0;
  for (; p < end; ++p) {
    // A line is far shorter than the limit, so leading zeros cannot compensate for it.
    if (IsDigit(*p) && written < int64_t{1} << 40) written = written * 10 + (*p - '0');
  }
  return exponent + (negative ? -written : written) < 0;
}

// Reads [p, stop), a number without sign.
bool ReadLongNumber(const char* p, const char* stop, double* value) {
  const std::from_chars_result result = std::from_chars(p, stop, *value);
  if (result.ec == std::errc()) return result.ptr == stop;
  *value = 0;
  return result.ec == std::errc::result_out_of_range && IsTiny(p, stop);
}

}  // namespace

namespace internal {

const char* ScanLongUint64(const char* p, const char* end, uint64_t* value) {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  uint64_t number = 0;
  for (; p < end && IsDigit(*p); ++p) {
    const uint64_t digit = static_cast<uint64_t>(*p - '0');
    if (number > (kMax - digit) / 10) return nullptr;
    number = number * 10 + digit;
  }
  *value = number;
  return p;
}

}  // namespace internal

const char* ScanDouble(const char* p, const char* end, double* value) {
  const bool negative = p < end && *p == '-';
  if (p < end && (*p == '-' || *p == '+')) ++p;
  uint64_t whole = 0, fraction = 0;
  const char* stop = ScanDigits(p, end, &whole);
  ptrdiff_t digits = stop - p, fraction_digits = 0;
  if (stop < end && *stop == '.') {
    const char* const point = stop;
    stop = ScanDigits(point + 1, end, &fraction);
    fraction_digits = stop - point - 1;
    digits += fraction_digits;
  }
  if (digits == 0) return nullptr;
  const char* const mantissa_end = stop;
  if (stop < end && (*stop == 'e' || *stop == 'E')) stop = EndOfExponent(stop, end);
  double number = 0;
  bool exact = stop == mantissa_end && digits <= kMaxDigits && fraction_digits < kMaxDigits;
  if (exact) {
    const uint64_t mantissa = whole * kWholePowers[fraction_digits] + fraction;
    exact = mantissa <= kMaxExactInteger;
    // A single operation on two exact doubles: the result is the nearest double.
    number = static_cast<double>(mantissa) / kPowers[fraction_digits];
  }
  if (!exact && !ReadLongNumber(p, stop, &number)) return nullptr;
  *value = negative ? -number : number;
  return stop;
}

std::string_view TooLargeNote(const char* p, const char* end) {
  double number = 0;
  float value = 0;
  if (ScanDouble(p, end, &number) == nullptr || ToFloat(number, &value)) return {};
  return " (too large: its square must fit float32, so 1.8e19 is the limit)";
}

std::string ShownText(const char* p, const char* end) {
  return ShownUtf8(std::string_view(p, end - p), kMaxShown + 2);
}

std::string ShownWord(const char* p, const char* end) {
  const char* stop = p;
  while (stop < end && !IsBlank(*stop)) ++stop;
  return ShownText(p, stop);
}

}  // namespace flotilla
