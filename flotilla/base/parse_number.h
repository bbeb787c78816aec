// Parses numbers in user-written text: flags, environment variables, fields of lines.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace flotilla {

// Parses the whole text as one number, as std::from_chars reads it: decimal, without a plus sign;
// "inf" and "nan" are numbers where T supports them. Returns nullopt when the text is empty, has
// any character before or after the number (blanks included), or is a number that T cannot
// represent.
template <typename T>
std::optional<T> ParseWhole(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace flotilla
