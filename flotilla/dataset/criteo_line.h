// Iterates over the fields of one raw Criteo line and checks them; shared by the parser and the
// preparation tool. It stores nothing; each field is passed to a sink that the caller provides.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "flotilla/dataset/parser.h"
#include "flotilla/dataset/scan_text.h"

namespace flotilla {

inline constexpr int kCriteoNumbers = 13;
inline constexpr int kCriteoCategories = 26;
inline constexpr int kCriteoFields = 1 + kCriteoNumbers + kCriteoCategories;
inline constexpr int kFirstCriteoCategory = 1 + kCriteoNumbers;
inline constexpr int kCriteoMaxDigits = 18;  // any such number fits in int64_t

namespace internal {

Status CriteoLabelError(std::string_view line);
Status CriteoNumberError(std::string_view line, const char* at, int number);
Status CriteoLineTooShort(std::string_view line, int fields);
Status CriteoLineTooLong(std::string_view line, const char* at);

// Reads [-]digits at `p` up to a tab or `end`; returns where it stopped, null when malformed.
// REQUIRES: p < end.
inline const char* ScanCriteoNumber(const char* p, const char* end, int64_t* value) {
  const bool negative = *p == '-';
  p += negative;
  uint64_t digits = 0;
  const char* const stop = ScanDigits(p, end, &digits);
  if (stop == p || stop - p > kCriteoMaxDigits || (stop < end && *stop != '\t')) return nullptr;
  const int64_t number = static_cast<int64_t>(digits);
  *value = negative ? -number : number;
  return stop;
}

// Returns the end of the field at `p`. Nearly all fields have eight bytes, so those are tested as
// one word.
inline const char* EndOfCriteoField(const char* p, const char* end) {
  if (end - p >= 8 && (end - p == 8 || p[8] == '\t')) {
    constexpr uint64_t kOnes = 0x0101010101010101u;
    uint64_t word;
    std::memcpy(&word, p, 8);
    word ^= kOnes * '\t';
    const bool has_tab = ((word - kOnes) & ~word & (kOnes << 7)) != 0;
    if (!has_tab) return p + 8;
  }
  while (p < end && *p != '\t') ++p;
  return p;
}

}  // namespace internal

// Whether the line is not a row: it is empty or has blanks only. Files end with such lines.
inline bool IsBlankCriteoLine(std::string_view line) {
  return line.find_first_not_of(' ') == std::string_view::npos;
}

// Whether a field is a missing value: it is empty or one blank.
inline bool IsMissingCriteoField(std::string_view field) { return field.empty() || field == " "; }

// Passes the fields to `sink` in their order, with i and c from 0:
//   sink->Label(bool clicked)
//   sink->Number(int i, int64_t value)  or  sink->MissingNumber(int i)
//   sink->Category(int c, std::string_view value)      empty: missing
// Returns an error, created with BadRow(), when the line is not 40 fields of the right kinds; the
// sink may have received some of them in that case.
template <typename Sink>
Status WalkCriteoLine(std::string_view line, Sink* sink) {
  const char* at = line.data();
  const char* const end = at + line.size();
  if (line.empty() || (*at != '0' && *at != '1') || (line.size() > 1 && at[1] != '\t')) {
    return internal::CriteoLabelError(line);
  }
  sink->Label(*at++ == '1');
  // From here on `at` points to the tab before the next field, or to the end of the line.
  for (int i = 0; i < kCriteoNumbers; ++i) {
    if (at == end) return internal::CriteoLineTooShort(line, 1 + i);
    ++at;
    const bool blank = at < end && *at == ' ' && (at + 1 == end || at[1] == '\t');
    if (at == end || *at == '\t' || blank) {
      sink->MissingNumber(i);
      at += blank;
      continue;
    }
    int64_t value = 0;
    const char* const stop = internal::ScanCriteoNumber(at, end, &value);
    if (stop == nullptr) return internal::CriteoNumberError(line, at, i);
    sink->Number(i, value);
    at = stop;
  }
  for (int c = 0; c < kCriteoCategories; ++c) {
    if (at == end) return internal::CriteoLineTooShort(line, kFirstCriteoCategory + c);
    ++at;
    const char* const stop = internal::EndOfCriteoField(at, end);
    const std::string_view value(at, static_cast<size_t>(stop - at));
    sink->Category(c, IsMissingCriteoField(value) ? std::string_view() : value);
    at = stop;
  }
  if (at != end) return internal::CriteoLineTooLong(line, at);
  return absl::OkStatus();
}

}  // namespace flotilla
