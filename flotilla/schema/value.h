// What a value is, wherever it comes from: a value is its text. A cell of a file, a float of an
// array and a number in JSON that mean the same become the same text here, so that training and
// scoring give them the same id.
#pragma once

#include <cmath>
#include <cstring>
#include <string>
#include <string_view>

namespace flotilla {

// Whether the text means "no value" in every schema: empty, NaN, nan or None. A schema may list
// further ones.
inline bool IsMissingText(std::string_view text) {
  switch (text.size()) {
    case 0:
      return true;
    case 3:
      return text == "NaN" || text == "nan";
    case 4:
      return text == "None";
    default:
      return false;
  }
}

namespace internal {
std::string_view WithoutZeroFraction(std::string_view text);
}  // namespace internal

// Whether the text is a number with a decimal comma: "12,50", "-3,1".
bool IsDecimalComma(std::string_view text);
// The number that such a text means. REQUIRES: IsDecimalComma(text).
double FromDecimalComma(std::string_view text);

// The text of a value that was given as text: a whole number that is written with a fraction of
// zeros (5.0, as data frames write a column of whole numbers with a missing value) is that whole
// number (5); any other text is unchanged. The result is a part of `text`.
inline std::string_view CanonicalText(std::string_view text) {
  return text.empty() || text.back() != '0' ? text : internal::WithoutZeroFraction(text);
}

// The text of a value that was given as a number: a whole number without a fraction, any other
// number with the fewest digits that give it back; NaN is the empty text, which is a missing value.
// The digits of a float are those of its own precision (0.1, not 0.10000000149011612), as it is
// written into files.
std::string CanonicalText(double value);
std::string CanonicalText(float value);
// The same, written to `to`, which has room for kCanonicalTextBytes; returns its end.
inline constexpr size_t kCanonicalTextBytes = 32;
char* WriteCanonicalText(double value, char* to);
char* WriteCanonicalText(float value, char* to);

}  // namespace flotilla
