#include "flotilla/schema/time_value.h"

#include "flotilla/base/scan_number.h"

namespace flotilla {
namespace {

constexpr int64_t kSecondsOfDay = 86400;

// Days since 1970-01-01 of a date of the Gregorian calendar; months from 1, days from 1.
int64_t DaysOf(int64_t year, int64_t month, int64_t day) {
  year -= month <= 2;
  const int64_t era = (year >= 0 ? year : year - 399) / 400;
  const int64_t year_of_era = year - era * 400;
  const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year -
         719468;
}

// 1970-01-01 was a Thursday.
int WeekdayOf(int64_t days) { return static_cast<int>(((days + 3) % 7 + 7) % 7); }

bool FromDate(int64_t year, int64_t month, int64_t day, int64_t hour, TimeOfWeek* time) {
  if (month < 1 || month > 12 || day < 1 || day > 31 || hour > 23) return false;
  const int64_t days = DaysOf(year, month, day);
  *time = {.hour = static_cast<int>(hour),
           .weekday = WeekdayOf(days),
           .hours_since_1970 = days * 24 + hour};
  return true;
}

// Reads exactly `digits` digits at `at`.
bool ReadPart(std::string_view text, size_t at, size_t digits, int64_t* value) {
  if (text.size() < at + digits) return false;
  *value = 0;
  for (size_t i = at; i < at + digits; ++i) {
    if (!IsDigit(text[i])) return false;
    *value = *value * 10 + (text[i] - '0');
  }
  return true;
}

bool ReadIso(std::string_view text, TimeOfWeek* time) {
  int64_t year = 0, month = 0, day = 0, hour = 0;
  if (!ReadPart(text, 0, 4, &year) || !ReadPart(text, 5, 2, &month) || !ReadPart(text, 8, 2, &day))
    return false;
  if (text[4] != '-' || text[7] != '-') return false;
  if (text.size() > 10) {
    if ((text[10] != 'T' && text[10] != ' ') || !ReadPart(text, 11, 2, &hour)) return false;
    if (text.size() > 13 && text[13] != ':') return false;
  }
  return FromDate(year, month, day, hour, time);
}

bool ReadHours(std::string_view text, TimeOfWeek* time) {
  int64_t year = 0, month = 0, day = 0, hour = 0;
  if (text.size() != 8 || !ReadPart(text, 0, 2, &year) || !ReadPart(text, 2, 2, &month) ||
      !ReadPart(text, 4, 2, &day) || !ReadPart(text, 6, 2, &hour)) {
    return false;
  }
  return FromDate(2000 + year, month, day, hour, time);
}

bool ReadUnix(std::string_view text, int64_t per_second, TimeOfWeek* time) {
  uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const char* const stop = ScanUint64(text.data(), end, &value);
  // A fraction of a second is allowed.
  if (stop == nullptr || (stop != end && *stop != '.') || value >= uint64_t{1} << 62) return false;
  const int64_t seconds = static_cast<int64_t>(value) / per_second;
  *time = {.hour = static_cast<int>(seconds % kSecondsOfDay / 3600),
           .weekday = WeekdayOf(seconds / kSecondsOfDay),
           .hours_since_1970 = seconds / 3600};
  return true;
}

bool ReadAny(std::string_view text, TimeOfWeek* time) {
  if (text.size() > 4 && text[4] == '-') return ReadIso(text, time);
  const size_t whole = text.substr(0, text.find('.')).size();
  if (whole == 8) return ReadHours(text, time);
  if (whole == 13) return ReadUnix(text, 1000, time);
  return (whole == 9 || whole == 10) && ReadUnix(text, 1, time);
}

}  // namespace

bool ReadTime(std::string_view text, TimeFormat format, TimeOfWeek* time) {
  switch (format) {
    case TimeFormat::kAny:
      return ReadAny(text, time);
    case TimeFormat::kHours:
      return ReadHours(text, time);
    case TimeFormat::kSeconds:
      return ReadUnix(text, 1, time);
    case TimeFormat::kMilliseconds:
      return ReadUnix(text, 1000, time);
    case TimeFormat::kIso:
      return ReadIso(text, time);
  }
  return false;
}

}  // namespace flotilla
