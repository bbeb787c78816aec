// Numbers in texts of people: flags, variables, fields of lines.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace flotilla {

// The number that the whole text is, as std::from_chars reads it: decimal, without a plus sign;
// "inf" and "nan" are numbers where T has them. Nothing when the text is empty, has anything before
// or behind the number, blanks too, or is a number that T cannot hold.
template <typename T>
std::optional<T> ParseWhole(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end) return std::nullopt;
  return value;
}

}  // namespace flotilla
