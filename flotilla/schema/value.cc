#include "flotilla/schema/value.h"

#include <fmt/format.h>

#include <algorithm>

#include "flotilla/base/scan_number.h"

namespace flotilla {

namespace internal {

std::string_view WithoutZeroFraction(std::string_view text) {
  const size_t point = text.find('.');
  if (point == std::string_view::npos || point == 0) return text;
  const std::string_view whole = text.substr(0, point);
  const size_t sign = whole[0] == '-' ? 1 : 0;
  if (whole.size() == sign) return text;
  for (const char c : whole.substr(sign)) {
    if (!IsDigit(c)) return text;
  }
  return text.find_first_not_of('0', point + 1) == std::string_view::npos ? whole : text;
}

}  // namespace internal

char* WriteCanonicalText(float value, char* to) {
  // Larger whole numbers have digits that are not of the value: 123456792 is written 123456790.
  constexpr float kExact = 0x1p24f;
  if (value > -kExact && value < kExact) {
    const auto whole = static_cast<int32_t>(value);
    if (static_cast<float>(whole) == value) {
      const fmt::format_int text(whole);
      return std::copy_n(text.data(), text.size(), to);
    }
  }
  return std::isnan(value) ? to : fmt::format_to(to, "{}", value);
}

char* WriteCanonicalText(double value, char* to) {
  if (std::isnan(value)) return to;
  constexpr double kWhole = 0x1p63;
  if (value > -kWhole && value < kWhole) {
    const auto whole = static_cast<int64_t>(value);
    if (static_cast<double>(whole) == value) {
      const fmt::format_int text(whole);
      return std::copy_n(text.data(), text.size(), to);
    }
  }
  return fmt::format_to(to, "{}", value);
}

std::string CanonicalText(float value) {
  char text[kCanonicalTextBytes];
  return {text, WriteCanonicalText(value, text)};
}

std::string CanonicalText(double value) {
  char text[kCanonicalTextBytes];
  return {text, WriteCanonicalText(value, text)};
}

bool IsDecimalComma(std::string_view text) {
  const auto are_digits = [](std::string_view part) {
    return !part.empty() &&
           std::all_of(part.begin(), part.end(), [](char c) { return IsDigit(c); });
  };
  if (!text.empty() && (text[0] == '-' || text[0] == '+')) text.remove_prefix(1);
  const size_t comma = text.find(',');
  return comma != std::string_view::npos && are_digits(text.substr(0, comma)) &&
         are_digits(text.substr(comma + 1));
}

double FromDecimalComma(std::string_view text) {
  std::string with_point(text);
  with_point[text.find(',')] = '.';
  double number = 0;
  ScanDouble(with_point.data(), with_point.data() + with_point.size(), &number);
  return number;
}

}  // namespace flotilla
