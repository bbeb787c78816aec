// Reads a point in time from the forms that click logs use, and tells the hour of the day and the
// day of the week. All times are UTC: a log that is written in local time keeps its own hours.
#pragma once

#include <cstdint>
#include <string_view>

namespace flotilla {

enum class TimeFormat {
  kAny,           // whichever of those below the text has the form of
  kHours,         // YYMMDDHH: 14102103 is 2014-10-21, 03 h
  kSeconds,       // since 1970
  kMilliseconds,  // since 1970
  kIso,           // YYYY-MM-DD, optionally followed by T or a blank, HH[:MM[:SS[.fff]]] and a zone
};

struct TimeOfWeek {
  int hour = 0;     // 0 .. 23
  int weekday = 0;  // 0 Monday .. 6 Sunday
  int64_t hours_since_1970 = 0;
};

// Returns false when the text is not a time in that form. A zone (Z, +02:00) at the end of an ISO
// time is not applied: the hour is the one that is written.
bool ReadTime(std::string_view text, TimeFormat format, TimeOfWeek* time);

}  // namespace flotilla
