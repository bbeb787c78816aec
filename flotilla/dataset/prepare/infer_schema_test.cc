#include "flotilla/dataset/prepare/infer_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/schema/schema.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class InferSchemaTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) {
    files_.push_back(dir_.Write(fmt::format("part{}", files_.size()), text));
  }
  StatusOr<TableSummary> Describe(int threads = 2, int64_t max_rows = 0) {
    form_ = *DetectCsv(*FirstLines(files_[0], 100, {}));
    DescribeOptions options{.threads = threads, .max_rows = max_rows};
    return DescribeColumns(files_, form_, options);
  }
  std::string Inferred(const std::string& label = "") {
    const StatusOr<TableSummary> table = Describe();
    EXPECT_TRUE(table.ok()) << table.status();
    const StatusOr<std::string> text = InferSchema(*table, form_, label);
    if (!text.ok()) return std::string(Message(text.status()));
    EXPECT_TRUE(Schema::FromText(*text).ok()) << Schema::FromText(*text).status() << *text;
    return *text;
  }

  const TempDir dir_;
  std::vector<std::string> files_;
  DetectedCsv form_;
};

// 200 rows of every kind of column.
std::string Rows(std::string_view label_end) {
  std::string text = "row id, hour, at, count, share, word, same, gone, wage\n";
  for (int i = 0; i < 200; ++i) {
    text += fmt::format("r{}, 141021{:02}, {}, {}, {}, {}, 7, {}, {}{}\n", i, i % 24,
                        1413860400 + 60 * i, i % 10, 0.125 * (i % 33), i % 3 == 0 ? "b" : "a",
                        i % 2 == 0 ? "?" : "", i % 4 == 0 ? ">50K" : "<=50K", label_end);
  }
  return text;
}

TEST_F(InferSchemaTest, EveryKindOfColumnGetsItsRole) {
  Write(Rows(""));
  const std::string text = Inferred();
  EXPECT_THAT(text, HasSubstr("header=yes trim=yes missing=? min_count=4\n"));
  EXPECT_THAT(text, HasSubstr("\"row id\":ignore "));
  EXPECT_THAT(text, HasSubstr("# nearly all values are distinct: words, 200 distinct\n"));
  EXPECT_THAT(text, HasSubstr("hour:time(yymmddhh) "));
  EXPECT_THAT(text, HasSubstr("at:time(seconds) "));
  EXPECT_THAT(text, HasSubstr("count:number(log,standardise)+category "));
  EXPECT_THAT(text, HasSubstr("# whole numbers 0 .. 9, mean 4.5, 10 distinct\n"));
  EXPECT_THAT(text, HasSubstr("share:number(log,standardise)+bucket(quantiles=32) "));
  EXPECT_THAT(text, HasSubstr("word:category "));
  EXPECT_THAT(text, HasSubstr("# words, 2 distinct: a, b\n"));
  EXPECT_THAT(text, HasSubstr("same:ignore "));
  EXPECT_THAT(text, HasSubstr("gone:ignore "));
  EXPECT_THAT(text, HasSubstr("wage:label(\"<=50K\",>50K) "));
}

TEST_F(InferSchemaTest, SpellingsOfALabelInSeveralFilesAreJoined) {
  Write(Rows(""));
  Write(Rows("."));
  EXPECT_THAT(Inferred(), HasSubstr("wage:label(\"<=50K\"|\"<=50K.\",>50K|>50K.) "));
}

TEST_F(InferSchemaTest, ValuesNeedNotBeUtf8ButLabels) {
  std::string text = "name,place,y\n";
  for (int i = 0; i < 60; ++i) {
    text += fmt::format("caf\xe9{},Владивосток и Хабаровск {},{}\n", i % 3, i % 5, i % 2);
  }
  Write(text);
  EXPECT_THAT(Inferred(), HasSubstr("# words, 3 distinct: caf?0, caf?1, caf?2\n"));
  EXPECT_THAT(Inferred(), HasSubstr("Владивосток .., "));
  EXPECT_THAT(Inferred("name"), HasSubstr("the label 'name' has the value 'caf?0', which is not"));
}

TEST_F(InferSchemaTest, LargeNumbersWithAnExponentAreNotWhole) {
  std::string text = "x,id,y\n";
  for (int i = 0; i < 100; ++i) {
    text += fmt::format("{}.25e30,1844674407370955161{},{}\n", i, i % 9, i % 2);
  }
  Write(text);
  EXPECT_THAT(Inferred(), HasSubstr("x:number(log,standardise)+bucket(quantiles=32) "));
  EXPECT_THAT(Inferred(), HasSubstr("id:number(log,standardise)+category "));
}

TEST_F(InferSchemaTest, ColumnsWithoutANameAndRepeatedHeadersAreLeftOut) {
  std::string text = ",a,y,\n";
  for (int i = 0; i < 200; ++i) {
    if (i == 20 || i == 150) text += ",a,y,\n";
    text += fmt::format("{},w{},{},\n", i, i % 3, i % 2);
  }
  Write(text);
  EXPECT_THAT(Inferred(), HasSubstr("from 200 rows and 2 columns"));
  const StatusOr<TableSummary> table = Describe();
  EXPECT_EQ(table->bad_rows, 2);
  EXPECT_THAT(table->bad[0], HasSubstr("part0:22:1: the header again, ',a,y,': remove the line"));
}

TEST_F(InferSchemaTest, LabelIsNamedFoundOrAskedFor) {
  Write("a,b,c\n1,2,3\n4,5,6\n7,8,9\n");
  EXPECT_EQ(Inferred(), "no column looks like the label: give --label with one of a, b, c");
  EXPECT_THAT(Inferred("b"), HasSubstr("b:label "));
  EXPECT_EQ(Inferred("x"), "there is no column 'x'; the columns are a, b, c");
}

TEST_F(InferSchemaTest, HeaderlessFilesHaveNumberedColumns) {
  Write("1\tx\t0.5\n0\ty\t-0.25\n1\tx\t0.75\n");
  const std::string text = Inferred();
  EXPECT_THAT(text, HasSubstr("delimiter=tab quotes=no header=no min_count=4\n"));
  EXPECT_THAT(text, HasSubstr("C1:label "));
  EXPECT_THAT(text, HasSubstr("C2:category "));
  EXPECT_THAT(text, HasSubstr("C3:number(standardise)+bucket(quantiles=32) "));
  EXPECT_THAT(text, Not(HasSubstr("missing=")));
}

TEST_F(InferSchemaTest, SummaryHasFiguresAndDoesNotDependOnThreads) {
  std::string text = "x,n\n";
  for (int i = 0; i < 30; ++i) text += "a,1\nb,2.5\na,\n,NA\n";
  Write(text + "a,3,4\n");
  StatusOr<TableSummary> table = Describe(1);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_EQ(table->rows, 120);
  EXPECT_EQ(table->bad_rows, 1);
  EXPECT_THAT(table->bad, ElementsAre(HasSubstr("part0:122:5: expected the end of the line")));
  EXPECT_THAT(table->markers, ElementsAre("NA"));
  const ColumnSummary& x = table->columns[0];
  EXPECT_EQ(x.count, 90);
  EXPECT_EQ(x.missing, 30);
  EXPECT_EQ(x.distinct, 2);
  EXPECT_THAT(x.top, ElementsAre(std::pair<std::string, int64_t>("a", 60),
                                 std::pair<std::string, int64_t>("b", 30)));
  const ColumnSummary& n = table->columns[1];
  EXPECT_EQ(n.whole, 30);
  EXPECT_EQ(n.fractions, 30);
  EXPECT_EQ(n.min, 1);
  EXPECT_EQ(n.max, 2.5);
  EXPECT_DOUBLE_EQ(n.mean, 1.75);
  EXPECT_EQ(TypeOf(n), "numbers");
  const StatusOr<TableSummary> again = Describe(3);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->columns[0].top, x.top);
  EXPECT_EQ(again->columns[1].mean, n.mean);
}

TEST_F(InferSchemaTest, LooksAtNoMoreRowsThanTold) {
  std::string text = "a,b\n";
  for (int i = 0; i < 20000; ++i) text += "1,2\n";
  Write(text);
  const StatusOr<TableSummary> table = Describe(2, 1000);
  ASSERT_TRUE(table.ok()) << table.status();
  EXPECT_FALSE(table->complete);
  EXPECT_GE(table->rows, 1000);
  EXPECT_LT(table->rows, 20000);
}

TEST_F(InferSchemaTest, OtherColumnsThatFitAreNamed) {
  std::string text = "age,bought,mobile\n";
  for (int i = 0; i < 300; ++i) {
    text += fmt::format("{},{},{}\n", i % 50, i % 3 == 0 ? "yes" : "no", i % 2);
  }
  Write(text);
  const StatusOr<TableSummary> table = Describe();
  LabelChoice choice;
  ASSERT_TRUE(InferSchema(*table, form_, "", &choice).ok());
  EXPECT_EQ(choice.column, "mobile");
  EXPECT_EQ(choice.reason, "the last column, and it has two values");
  EXPECT_EQ(choice.warning,
            "mobile is taken for the label, but bought could be it as well: --label says which");
  ASSERT_TRUE(InferSchema(*table, form_, "bought", &choice).ok());
  EXPECT_EQ(choice.reason + choice.warning, "--label says so");
}

TEST_F(InferSchemaTest, DecimalCommasAreNumbersBetweenSemicolons) {
  std::string text = "age;price;bought\n";
  for (int i = 0; i < 300; ++i) text += fmt::format("{};{},5;{}\n", i % 50, i % 40, i % 2);
  Write(text);
  const std::string schema = Inferred();
  EXPECT_THAT(schema, HasSubstr("delimiter=semicolon header=yes decimal=comma min_count=4\n"));
  EXPECT_THAT(schema, HasSubstr("price:number(log,standardise)+bucket(quantiles=32) "));
  EXPECT_THAT(schema, HasSubstr("# numbers 0.5 .. 39.5"));
  EXPECT_THAT(Inferred("price"), HasSubstr("the label 'price' has decimal commas, such as '"));
}

TEST_F(InferSchemaTest, AFewStrayValuesOfTheLabelAreNamed) {
  std::string text = "age,bought\n";
  for (int i = 0; i < 6000; ++i) {
    text += fmt::format("{},{}\n", i % 50, i % 1700 == 7 ? "maybe" : i % 3 == 0 ? "yes" : "no");
  }
  Write(text);
  EXPECT_THAT(Inferred(), HasSubstr("give --label with one of age, bought; bought has two values "
                                    "but for 'maybe' (4 of 6000 rows)"));
}

}  // namespace
}  // namespace flotilla
