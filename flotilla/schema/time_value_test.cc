#include "flotilla/schema/time_value.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace flotilla {
namespace {

// "hour weekday", or "none".
std::string TimeOf(std::string_view text, TimeFormat format = TimeFormat::kAny) {
  TimeOfWeek time;
  if (!ReadTime(text, format, &time)) return "none";
  return fmt::format("{} {}", time.hour, time.weekday);
}

TEST(TimeValueTest, EveryFormGivesHourAndWeekday) {
  // 2014-10-21 was a Tuesday.
  EXPECT_EQ(TimeOf("14102103", TimeFormat::kHours), "3 1");
  EXPECT_EQ(TimeOf("1413860400", TimeFormat::kSeconds), "3 1");
  EXPECT_EQ(TimeOf("1413860400.75", TimeFormat::kSeconds), "3 1");
  EXPECT_EQ(TimeOf("1413860400123", TimeFormat::kMilliseconds), "3 1");
  EXPECT_EQ(TimeOf("2014-10-21", TimeFormat::kIso), "0 1");
  EXPECT_EQ(TimeOf("2014-10-21 03:59:59", TimeFormat::kIso), "3 1");
  EXPECT_EQ(TimeOf("2014-10-21T03:00:00.5+02:00", TimeFormat::kIso), "3 1");
}

TEST(TimeValueTest, FormIsFoundFromTheText) {
  for (const char* text : {"14102103", "1413860400", "1413860400123", "2014-10-21T03:00"}) {
    EXPECT_EQ(TimeOf(text), "3 1") << text;
  }
}

TEST(TimeValueTest, WeekdaysOfKnownDates) {
  EXPECT_EQ(TimeOf("1970-01-01"), "0 3");  // a Thursday
  EXPECT_EQ(TimeOf("2000-02-29"), "0 1");
  EXPECT_EQ(TimeOf("2023-12-31"), "0 6");
  EXPECT_EQ(TimeOf("1969-12-31"), "0 2");
}

TEST(TimeValueTest, WhatIsNoTime) {
  for (const char* text : {"", "x", "14102124", "14130103", "14100003", "2014-13-01", "2014-10-32",
                           "2014/10/21", "2014-10-21T24", "2014-10-21T1", "2014-10-21 10h", "12"}) {
    EXPECT_EQ(TimeOf(text), "none") << text;
  }
  EXPECT_EQ(TimeOf("-5", TimeFormat::kSeconds), "none");
  EXPECT_EQ(TimeOf("99999999999999999999", TimeFormat::kSeconds), "none");
}

}  // namespace
}  // namespace flotilla
