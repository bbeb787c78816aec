#include "flotilla/dataset/prepare/label_tally.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

StatusOr<LabelStatistics> Decided(const std::vector<std::string>& texts,
                                  std::string_view word = "label") {
  const Schema schema = *Schema::FromText("x:id y:" + std::string(word));
  LabelTally first, second;
  for (size_t i = 0; i < texts.size(); ++i) (i % 2 == 0 ? first : second).AddText(texts[i]);
  first.Merge(second);
  return first.Decide(schema.columns[1]);
}

std::string DecideError(const std::vector<std::string>& texts, std::string_view word = "label") {
  return std::string(Message(Decided(texts, word).status()));
}

TEST(LabelTallyTest, TwoNumbersAreAClickWhoseLargerIsOne) {
  for (const auto& [low, high] :
       std::vector<std::pair<std::string, std::string>>{{"0", "1"}, {"1", "2"}, {"-1", "+1"}}) {
    const StatusOr<LabelStatistics> label = Decided({high, low, low, low, low + ".0"});
    ASSERT_TRUE(label.ok()) << label.status();
    EXPECT_EQ(label->task, LabelTask::kClick);
    EXPECT_EQ(label->classes.size(), 2u);
    EXPECT_EQ(label->classes[0], low);
    EXPECT_TRUE(label->numeric);
    EXPECT_DOUBLE_EQ(label->mean, 0.2);
    EXPECT_EQ(label->count, 5);
  }
}

TEST(LabelTallyTest, MoreNumbersAreARegressionUnlessTheSchemaSaysClasses) {
  const StatusOr<LabelStatistics> label = Decided({"1", "2", "4.5"});
  ASSERT_TRUE(label.ok()) << label.status();
  EXPECT_EQ(label->task, LabelTask::kRegression);
  EXPECT_DOUBLE_EQ(label->mean, 2.5);
  EXPECT_THAT(label->classes, IsEmpty());
  EXPECT_THAT(Decided({"10", "2", "4"}, "label(task=classes)")->classes,
              ElementsAre("2", "4", "10"));
  EXPECT_EQ(Decided({"1", "2"}, "label(task=regression)")->task, LabelTask::kRegression);
}

TEST(LabelTallyTest, WordsAreClassesInTheirOrder) {
  const StatusOr<LabelStatistics> two = Decided({"yes", "no", "no", "no"});
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_EQ(two->task, LabelTask::kClick);
  EXPECT_THAT(two->classes, ElementsAre("no", "yes"));
  EXPECT_DOUBLE_EQ(two->mean, 0.25);
  const StatusOr<LabelStatistics> three = Decided({"c", "b", "a"});
  ASSERT_TRUE(three.ok()) << three.status();
  EXPECT_EQ(three->task, LabelTask::kClasses);
  EXPECT_THAT(three->classes, ElementsAre("a", "b", "c"));
}

TEST(LabelTallyTest, ListedClassesAreCountedByTheirNumbers) {
  const Schema schema = *Schema::FromText("x:id y:label(no|n,yes)");
  LabelTally tally;
  for (const int64_t k : {0, 1, 0, 0}) tally.AddClass(k);
  const StatusOr<LabelStatistics> label = tally.Decide(schema.columns[1]);
  ASSERT_TRUE(label.ok()) << label.status();
  EXPECT_EQ(label->task, LabelTask::kClick);
  EXPECT_DOUBLE_EQ(label->mean, 0.25);
  LabelTally one;
  one.AddClass(1);
  EXPECT_THAT(std::string(Message(one.Decide(schema.columns[1]).status())),
              HasSubstr("every row has the same value, 'yes'"));
}

TEST(LabelTallyTest, WhatCannotBeALabelIsNamed) {
  EXPECT_THAT(DecideError({"1", "1"}), HasSubstr("every row has the same value, '1'"));
  EXPECT_THAT(DecideError({"a"}), HasSubstr("every row has the same value, 'a'"));
  EXPECT_THAT(DecideError({"1", "a"}), HasSubstr("it has numbers (1) and words ('a')"));
  EXPECT_THAT(DecideError({"<=50K", ">50K", "<=50K.", ">50K."}),
              HasSubstr("'<=50K' and '<=50K.' look like two spellings of one class"));
  EXPECT_THAT(DecideError({"1", "2", "3"}, "label(task=click)"),
              HasSubstr("a click has two values, and it has 3"));
  EXPECT_THAT(DecideError({"a", "b"}, "label(task=regression)"),
              HasSubstr("a regression needs numbers"));
  std::vector<std::string> many;
  for (int i = 0; i < 1200; ++i) many.push_back("w" + std::to_string(i));
  EXPECT_THAT(DecideError(many), HasSubstr("more than 1000 different words"));
}

TEST(LabelTallyTest, RareValuesAreNamed) {
  LabelTally tally;
  for (int i = 0; i < 12000; ++i) tally.AddText(i % 3000 == 5 ? "2" : i % 4 == 0 ? "1" : "0");
  EXPECT_EQ(tally.RareValues({}), "'2' has 4 of 12000 rows");
  LabelTally regression;
  for (int i = 0; i < 12000; ++i) regression.AddText(fmt::to_string(i % 6000));
  EXPECT_EQ(regression.RareValues({}), "");
}

}  // namespace
}  // namespace flotilla
