#include "flotilla/dataset/prepare/collect_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "flotilla/base/rng.h"
#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/dataset/csv_parser.h"
#include "flotilla/dataset/parser_testing.h"
#include "flotilla/schema/schema_testing.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CollectStatisticsTest : public ::testing::Test {
 protected:
  StatusOr<Statistics> Collect(std::string_view words, const std::string& text) {
    schema_ = SchemaOf(words);
    return CollectStatistics({dir_.Write("rows.csv", text)}, schema_, options_);
  }
  std::string CollectError(std::string_view words, const std::string& text) {
    return std::string(Message(Collect(words, text).status()));
  }

  const TempDir dir_;
  Schema schema_;
  CollectOptions options_{.threads = 2};
};

TEST_F(CollectStatisticsTest, CountsValuesNumbersAndLabels) {
  const StatusOr<Statistics> found = Collect(
      "min_count=2 c:category n:number(standardise) l:number(log,standardise) "
      "b:bucket(quantiles=2) "
      "y:label",
      "x,1,0,1,0\ny,2,,2,1\nx,3,0,3,0\n,,0,4,0\nz,,0,,0\nz,,0,,0\nz,,0,,0\n");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->rows, 7);
  EXPECT_THAT(found->vocabularies[0].keys, ::testing::ElementsAreArray(KeysOf("c", {"z", "x"})));
  EXPECT_EQ(found->vocabularies[0].distinct, 3);
  EXPECT_EQ(found->vocabularies[0].values, 6);
  EXPECT_EQ(found->vocabularies[0].rare, 1);
  EXPECT_EQ(found->numbers[1].count, 3);
  EXPECT_EQ(found->numbers[1].missing, 4);
  EXPECT_EQ(found->numbers[1].min, 1);
  EXPECT_EQ(found->numbers[1].max, 3);
  EXPECT_DOUBLE_EQ(found->numbers[1].mean, 2);
  EXPECT_DOUBLE_EQ(found->numbers[1].deviation, std::sqrt(2.0 / 3));
  EXPECT_EQ(found->numbers[2].missing, 1);
  EXPECT_THAT(found->numbers[3].borders, ElementsAre(3));
  EXPECT_EQ(found->labels[4].task, LabelTask::kClick);
  EXPECT_DOUBLE_EQ(found->labels[4].mean, 1.0 / 7);
  EXPECT_EQ(found->files, (std::vector<Statistics::File>{{"rows.csv", 61}}));
}

// What is counted is what the encoder finds: every value that occurs has an id of its own.
TEST_F(CollectStatisticsTest, EncoderFindsEveryCountedValue) {
  const std::string text = "1,a,x|y,14102103,u\n2,b,y|z|x,14102104,v\n300,a,,14102105,u\n";
  const StatusOr<Statistics> found = Collect(
      "n:bucket a:category h:sequence(length=2) t:time(yymmddhh) y:label ab:cross(n,a) "
      "at:cross(a,t.hour)",
      text);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->cut[2], 1);
  const FittedSchema fitted = Fitted(schema_, *found);
  const auto parser = *CsvParser::Make(schema_.Inputs(), fitted);
  EXPECT_THAT(RowsOf(*parser, {"1,a,x|y,14102103,u", "2,b,y|z|x,14102104,v", "300,a,,14102105,u"}),
              ::testing::SizeIs(3));
  Batch batch = EmptyBatchFor(*parser);
  for (const char* line : {"1,a,x|y,14102103,u", "2,b,y|z|x,14102104,v", "300,a,,14102105,u"}) {
    ASSERT_TRUE(parser->Parse(line, &batch).ok());
  }
  const std::vector<FittedSchema::IdRange>& ranges = fitted.id_ranges();
  for (const size_t column : {0, 1, 2, 6, 7}) {
    const std::string input = schema_.columns[column].input_name();
    for (size_t f = 0; f < parser->inputs().size(); ++f) {
      if (parser->inputs()[f].name != input) continue;
      for (const uint64_t id : batch.fields[f].ids.ids) {
        EXPECT_GE(id, ranges[column].first + 2) << input;
        EXPECT_LT(id, ranges[column].first + ranges[column].size) << input;
      }
    }
  }
}

TEST_F(CollectStatisticsTest, SequencesOfHashesAreCutAndCountedToo) {
  std::vector<std::string> log;
  options_.log = [&](std::string_view line) { log.emplace_back(line); };
  const StatusOr<Statistics> found =
      Collect("h:sequence(hash,length=2) y:label", "a|b|c,1\na|b,0\na|a|a,1\n");
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->cut[0], 2);
  EXPECT_THAT(log, ElementsAre(HasSubstr("column h: 2 of 3 sequences are longer than 2")));
}

TEST_F(CollectStatisticsTest, ColumnsToKeepMayBeAbsentWhereThereIsAHeader) {
  const char* const words = "header=yes name:keep a:category y:label";
  for (const char* text : {"a,y\nx,1\nz,0\n", "name,y,a\nu,1,x\nv,0,z\n"}) {
    const StatusOr<Statistics> found = Collect(words, text);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(found->vocabularies[0].distinct, 2);
  }
  EXPECT_THAT(CollectError(words, "name,y\nu,1\n"), HasSubstr("the file has no column 'a'"));
  EXPECT_THAT(CollectError("name:keep a:category y:label", "x,1\n"),
              HasSubstr("expected 3 columns, the line ends after 2"));
}

TEST_F(CollectStatisticsTest, ResultDoesNotDependOnThreads) {
  const RngKey key = RngKey(1).With("rows");
  std::string text;
  for (uint64_t i = 0; i < 20000; ++i) {
    text += fmt::format("{},{:.3f},{}\n", key.Below(3 * i, 500),
                        key.Below(3 * i + 1, 1 << 20) / 77.0, key.Below(3 * i + 2, 2));
  }
  const char* words =
      "a:category+number(standardise) b:number(log,standardise)+bucket(quantiles=9) y:label";
  options_.threads = 1;
  const StatusOr<Statistics> one = Collect(words, text);
  options_.threads = 3;
  const StatusOr<Statistics> three = Collect(words, text);
  ASSERT_TRUE(one.ok() && three.ok()) << one.status() << three.status();
  EXPECT_EQ(StatisticsToText(*one), StatisticsToText(*three));
  EXPECT_EQ(one->vocabularies[0].keys.size(), 500u);
}

TEST_F(CollectStatisticsTest, VocabularyThatDoesNotFitIsHashed) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += fmt::format("v{},{}\n", i, i % 2);
  options_.vocabulary_bytes = 1 << 15;
  std::vector<std::string> log;
  options_.log = [&](std::string_view line) { log.emplace_back(line); };
  const StatusOr<Statistics> found = Collect("a:category y:label", text);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_TRUE(found->vocabularies[0].hashed);
  EXPECT_THAT(log, ElementsAre(HasSubstr("vocabulary a has too many distinct values")));
}

TEST_F(CollectStatisticsTest, BadRowsAreErrorsOrDoNotCount) {
  const std::string text = "x,1,0\ny,no,1\nz,3,1\n";
  EXPECT_THAT(CollectError("a:category n:number y:label", text),
              HasSubstr("rows.csv:2:3: column n: expected a number, found 'no'"));
  options_.max_bad_rows = 1;
  const StatusOr<Statistics> found = Collect("a:category n:number y:label", text);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->rows, 2);
  EXPECT_EQ(found->vocabularies[0].distinct, 2);
  options_.max_bad_rows = 0;
  EXPECT_THAT(CollectError("a:category w:weight y:label", "x,-1,0\n"),
              HasSubstr(":1:3: column w: expected a weight of at least 0, found '-1'"));
  EXPECT_THAT(CollectError("a:category y:label", "x,\n"),
              HasSubstr(":1:3: column y: the label is missing; --max_bad_rows"));
  EXPECT_THAT(CollectError("a:category y:label", "x,1\ny,1\n"),
              HasSubstr("label column y: every row has the same value, '1'"));
  EXPECT_THAT(CollectError("header=yes a:category y:label", "b,y\n1,1\n"),
              HasSubstr("rows.csv:1:1: the file has no column 'a'"));
  EXPECT_THAT(CollectError("a:category y:label", "\n"), HasSubstr("no row"));
}

TEST_F(CollectStatisticsTest, FitReadsWhatItWroteAndReplacesWhatDoesNotFit) {
  const std::string file = dir_.Write("rows.csv", "x,1\ny,0\n");
  const std::string path = dir_.path() + "/schema.stats";
  const Schema schema = SchemaOf("a:category y:label");
  const StatusOr<FittedSchema> first = FitSchema(schema, path, {file}, options_);
  ASSERT_TRUE(first.ok()) << first.status();
  const StatusOr<FittedSchema> second = FitSchema(schema, path, {file}, options_);
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(second->identity(), first->identity());
  std::vector<std::string> log;
  options_.log = [&](std::string_view line) { log.emplace_back(line); };
  const Schema edited = SchemaOf("a:category(min_count=3) y:label");
  ASSERT_TRUE(FitSchema(edited, path, {file}, options_).ok());
  EXPECT_THAT(log, ElementsAre(path + ": collecting the statistics again: the schema has changed "
                                      "since it was made"));
  log.clear();
  ASSERT_TRUE(FitSchema(edited, path, {file}, options_).ok());
  EXPECT_THAT(log, ElementsAre()) << "the file was written again";
  dir_.Write("rows.csv", "x,1\ny,0\nz,0\n");
  const StatusOr<FittedSchema> more = FitSchema(edited, path, {file}, options_);
  ASSERT_TRUE(more.ok()) << more.status();
  EXPECT_EQ(more->statistics()->rows, 3);
  EXPECT_THAT(log, ElementsAre(HasSubstr("made from rows.csv (8 bytes), not rows.csv (12 bytes)")));
}

}  // namespace
}  // namespace flotilla
