#include "flotilla/dataset/criteo_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/base/temp_dir_testing.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

CriteoStatistics Example() {
  CriteoStatistics statistics;
  for (int i = 0; i < kCriteoNumbers; ++i) {
    statistics.columns[i] = {
        .count = 10 * i, .missing = i, .min = -i, .p95 = 100 * i, .exact = i != 4};
  }
  statistics.train_rows = 900;
  statistics.test_rows = 100;
  statistics.seed = UINT64_MAX;
  statistics.test_share = 0.1;
  statistics.buckets = "log2";
  statistics.min_count = 10;
  return statistics;
}

// The text of the example with one substring replaced.
std::string Replaced(const std::string& from, const std::string& to) {
  std::string text = ToText(Example());
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string StatisticsError(const std::string& text) {
  const auto statistics = CriteoStatisticsFromText(text);
  EXPECT_FALSE(statistics.ok());
  return std::string(Message(statistics.status()));
}

TEST(CriteoStatisticsTest, TextReadsBackAsTheSameValues) {
  const auto read = CriteoStatisticsFromText(ToText(Example()));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, Example());
}

TEST(CriteoStatisticsTest, WrongFilesAreRefusedWithThePlace) {
  EXPECT_THAT(StatisticsError("{\n  \"format\": nope"), HasSubstr("line 2, column 14"));
  EXPECT_EQ(StatisticsError("[]"), "expected an object");
  EXPECT_EQ(StatisticsError("{}"), "format: expected a string, it is missing");
  EXPECT_THAT(StatisticsError(Replaced("criteo statistics", "oracle")),
              HasSubstr("format: expected"));
  EXPECT_EQ(StatisticsError(Replaced("\"version\": 1", "\"version\": 2")),
            "version: 2 is not supported, expected 1");
  EXPECT_EQ(StatisticsError(Replaced("\"p95\": 300", "\"p95\": \"300\"")),
            "columns[3].p95: expected a whole number, found \"300\"");
  EXPECT_EQ(StatisticsError(Replaced("\"p95\": 300", "\"p95\": -300")),
            "columns[3].p95: -300 is below min -3");
  EXPECT_EQ(StatisticsError(Replaced("\"p95\": 300", "\"p95\": 18446744073709551615")),
            "columns[3].p95: 18446744073709551615 is out of range");
  EXPECT_EQ(StatisticsError(Replaced("\"name\": \"I2\"", "\"name\": \"I3\"")),
            "columns[1].name: expected \"I2\", found \"I3\"");
  EXPECT_EQ(StatisticsError(Replaced("\"count\": 10,", "\"count\": -1,")),
            "columns[1].count: -1 is out of range");
  EXPECT_EQ(StatisticsError(Replaced("\"columns\": [", "\"columns\": [{},")),
            "columns: expected an array of 13 objects");
}

TEST(CriteoStatisticsTest, ErrorsOfAFileStartWithItsPath) {
  const TempDir dir;
  const std::string good = dir.Write("good.json", ToText(Example()));
  const auto read = ReadCriteoStatistics(good);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, Example());
  const std::string bad = dir.Write("bad.json", "{}");
  EXPECT_THAT(Message(ReadCriteoStatistics(bad).status()), ::testing::StartsWith(bad + ": format"));
  EXPECT_THAT(Message(ReadCriteoStatistics(dir.path() + "/none").status()), HasSubstr("/none"));
}

}  // namespace
}  // namespace flotilla
