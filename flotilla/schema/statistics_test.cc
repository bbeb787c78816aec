#include "flotilla/schema/statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/schema/schema_testing.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

Statistics Filled(const Schema& schema) {
  Statistics statistics = EmptyStatistics(schema);
  statistics.files = {{"a.csv", 12}, {"b.csv", 5}};
  statistics.rows = 7;
  statistics.numbers[0] = {.count = 6,
                           .missing = 1,
                           .min = -0.5,
                           .max = 1e300,
                           .mean = 1.0 / 3,
                           .deviation = 2,
                           .borders = {0.1, 0.2}};
  statistics.cut[1] = 3;
  statistics.vocabularies[0].keys = {0, 1, UINT64_MAX, 0x123456789abcdef0};
  statistics.vocabularies[0].distinct = 9;
  statistics.labels[2] = {.task = LabelTask::kClasses, .classes = {"x", "y\"z"}, .count = 7};
  return statistics;
}

TEST(StatisticsTest, TextGivesTheStatisticsBack) {
  const Statistics statistics = Filled(SchemaOf("a:number b:category y:label"));
  const StatusOr<Statistics> read = StatisticsFromText(StatisticsToText(statistics));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, statistics);
}

TEST(StatisticsTest, ChangedOrShortTextIsRefused) {
  const std::string text = StatisticsToText(Filled(SchemaOf("a:number b:category y:label")));
  std::string changed = text;
  changed[changed.find("\"rows\":7") + 7] = '8';
  EXPECT_EQ(StatisticsFromText(changed).status().code(), absl::StatusCode::kDataLoss);
  for (size_t size = 0; size + 1 < text.size(); size += 7) {
    EXPECT_FALSE(StatisticsFromText(text.substr(0, size)).ok()) << size;
  }
}

TEST(StatisticsTest, OtherVersionAndBadMembersAreNamed) {
  auto error = [](const std::string& line) {
    const std::string text = fmt::format("{}\nxxh64 {:016x}\n", line, HashBytes(line));
    return std::string(Message(StatisticsFromText(text).status()));
  };
  std::string line = StatisticsToText(Filled(SchemaOf("a:number b:category y:label")));
  line.resize(line.find('\n'));
  EXPECT_EQ(error(line), "");
  auto with = [&](const std::string& from, const std::string& to) {
    std::string other = line;
    other.replace(other.find(from), from.size(), to);
    return error(other);
  };
  EXPECT_THAT(with("\"version\":1", "\"version\":2"), HasSubstr("statistics: version"));
  EXPECT_THAT(with("\"format\":\"flotilla", "\"format\":\"other"), HasSubstr("format"));
  EXPECT_THAT(with("\"keys\":\"", "\"keys\":\"A"), HasSubstr("vocabularies[0].keys"));
  EXPECT_THAT(with("\"rows\":7", "\"rows\":-7"), HasSubstr("rows"));
}

TEST(StatisticsTest, OtherSchemasAreRefusedAndOtherFilesNamed) {
  const Schema schema = SchemaOf("a:number b:category y:label");
  const Statistics statistics = Filled(schema);
  EXPECT_TRUE(CheckFits(statistics, schema).ok());
  const Status other = CheckFits(statistics, SchemaOf("a:number(log) b:category y:label"));
  EXPECT_EQ(other.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(Message(other)), HasSubstr("for another schema: collect them again"));
  EXPECT_EQ(DifferenceOfFiles(statistics, statistics.files), "");
  std::vector<Statistics::File> reversed = statistics.files;
  std::reverse(reversed.begin(), reversed.end());
  EXPECT_EQ(DifferenceOfFiles(statistics, reversed), "");
  auto difference = [&](const std::vector<Statistics::File>& files) {
    return DifferenceOfFiles(statistics, files);
  };
  EXPECT_EQ(difference({{"a.csv", 12}}), "it was made from 2 files, not 1");
  EXPECT_EQ(difference({{"a.csv", 12}, {"b.csv", 6}}),
            "it was made from b.csv (5 bytes), not b.csv (6 bytes)");
}

TEST(StatisticsTest, FileIsWrittenAndReadOrNamedInTheError) {
  TempDir dir;
  const Statistics statistics = Filled(SchemaOf("a:number b:category y:label"));
  const std::string path = dir.path() + "/x.stats";
  ASSERT_TRUE(WriteStatistics(path, statistics).ok());
  const StatusOr<Statistics> read = ReadStatistics(path);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, statistics);
  EXPECT_THAT(std::string(Message(ReadStatistics(dir.Write("bad", "{}")).status())),
              HasSubstr("/bad: statistics: the checksum is missing"));
}

}  // namespace
}  // namespace flotilla
