#include "flotilla/schema/label_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flotilla {
namespace {

using ::testing::HasSubstr;

Column LabelColumn(std::string_view word) {
  return Schema::FromText("x:id y:" + std::string(word))->columns[1];
}

std::string LabelOf(const LabelReader& reader, std::string_view text) {
  float label = 0;
  return reader.Read(text, &label) ? fmt::format("{}", label) : "none";
}

TEST(LabelReaderTest, TwoNumbersAreAClickHoweverTheyAreWritten) {
  const LabelStatistics statistics{
      .task = LabelTask::kClick, .classes = {"-1", "1"}, .numeric = true};
  const LabelReader reader(LabelColumn("label"), &statistics);
  EXPECT_EQ(LabelOf(reader, "-1"), "0");
  EXPECT_EQ(LabelOf(reader, "+1"), "1");
  EXPECT_EQ(LabelOf(reader, "1.0"), "1");
  EXPECT_EQ(LabelOf(reader, "0"), "none");
  EXPECT_EQ(LabelOf(reader, ""), "none");
  EXPECT_THAT(reader.expected(), HasSubstr("one of the 2 labels '-1', '1'"));
}

TEST(LabelReaderTest, WordsOfTheTrainingRowsAreTheClasses) {
  const LabelStatistics statistics{.task = LabelTask::kClasses, .classes = {"a", "b", "c"}};
  const LabelReader reader(LabelColumn("label"), &statistics);
  EXPECT_EQ(LabelOf(reader, "c"), "2");
  EXPECT_EQ(LabelOf(reader, "c."), "none");
  EXPECT_THAT(reader.expected(), HasSubstr("label(a|SPELLING,..)"));
}

TEST(LabelReaderTest, SchemaListsSpellings) {
  const LabelReader reader(LabelColumn("label(<=50K|<=50K.,>50K|>50K.)"), nullptr);
  EXPECT_EQ(LabelOf(reader, "<=50K."), "0");
  EXPECT_EQ(LabelOf(reader, ">50K"), "1");
  EXPECT_EQ(LabelOf(reader, "50K"), "none");
}

TEST(LabelReaderTest, RegressionTakesAnyNumberAndPlainLabelsWholeOnes) {
  const LabelReader plain(LabelColumn("label"), nullptr);
  EXPECT_EQ(LabelOf(plain, "3"), "3");
  EXPECT_EQ(LabelOf(plain, "0.5"), "none");
  const LabelReader number(LabelColumn("label(task=regression)"), nullptr);
  EXPECT_EQ(LabelOf(number, "0.5"), "0.5");
  EXPECT_EQ(LabelOf(number, "-7"), "-7");
  EXPECT_EQ(LabelOf(number, "1e30"), "none");
  const LabelStatistics statistics{.task = LabelTask::kRegression};
  EXPECT_EQ(LabelOf(LabelReader(LabelColumn("label"), &statistics), "0.5"), "0.5");
}

}  // namespace
}  // namespace flotilla
