#include "flotilla/dataset/prepare/check_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/dataset/csv_parser.h"
#include "flotilla/dataset/test_data.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(CheckRowsTest, GoodRowsAreCountedWithTheirIds) {
  const TempDir dir;
  const std::vector<std::string> files = {dir.Write("a", NumberLines(0, 6000)),
                                          dir.Write("b", NumberLines(6000, 9000))};
  for (const int threads : {1, 3}) {
    const auto report = CheckRows(files, NumberParser(), {.threads = threads});
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_EQ(report->lines, 9000);
    EXPECT_EQ(report->rows, 9000);
    EXPECT_TRUE(report->complete);
    EXPECT_TRUE(report->bad.empty());
    EXPECT_THAT(report->ids, ElementsAre(CheckReport::Ids{},
                                         CheckReport::Ids{.all = 9000, .most = 2, .empty = 3000}));
  }
}

TEST(CheckRowsTest, FirstBadRowIsTheFirstForAnyNumberOfThreads) {
  const TempDir dir;
  const std::vector<std::string> files = {dir.Write(
      "a",
      NumberLines(0, 9000) + "x\n" + NumberLines(0, 5000) + "y\n" + NumberLines(0, 5000) + "z\n")};
  const std::string x = files[0] + ":9001:1: expected a digit, found 'x'";
  const std::string y = files[0] + ":14002:1: expected a digit, found 'y'";
  const std::string z = files[0] + ":19003:1: expected a digit, found 'z'";
  for (const int threads : {1, 4}) {
    auto report = CheckRows(files, NumberParser(), {.threads = threads});
    ASSERT_TRUE(report.ok()) << report.status();
    EXPECT_FALSE(report->complete);
    EXPECT_THAT(report->bad, ElementsAre(x));
    report = CheckRows(files, NumberParser(), {.max_bad_rows = 1, .threads = threads});
    EXPECT_FALSE(report->complete);
    EXPECT_THAT(report->bad, ElementsAre(x, y));
    report = CheckRows(files, NumberParser(), {.max_bad_rows = 3, .threads = threads});
    EXPECT_TRUE(report->complete);
    EXPECT_THAT(report->bad, ElementsAre(x, y, z));
    EXPECT_EQ(report->rows, 19'000);
    EXPECT_EQ(report->lines, 19'003);
  }
}

TEST(CheckRowsTest, HeadingsAreCheckedAndAreNoRows) {
  const TempDir dir;
  const auto schema = Schema::FromText("header=yes a:id label:label");
  ASSERT_TRUE(schema.ok()) << schema.status();
  const auto parser = CsvParser::Make(schema->Inputs(), *schema);
  ASSERT_TRUE(parser.ok()) << parser.status();
  const auto good = CheckRows({dir.Write("good", "a,label\nx,1\n\ny,0\n")}, **parser, {});
  ASSERT_TRUE(good.ok()) << good.status();
  EXPECT_EQ(good->rows, 2);
  EXPECT_EQ(good->lines, 3);
  const std::string other = dir.Write("other", "b,label\nx,1\n");
  EXPECT_THAT(Message(CheckRows({other}, **parser, {.max_bad_rows = 9}).status()),
              HasSubstr(other + ":1:1: the file has no column 'a', which the schema lists"));
}

TEST(CheckRowsTest, NothingToCheckIsAnError) {
  const TempDir dir;
  const std::string empty = dir.Write("empty", "");
  EXPECT_EQ(Message(CheckRows({empty}, NumberParser(), {}).status()),
            "no rows in 1 file(s), first " + empty);
  EXPECT_THAT(Message(CheckRows({dir.path() + "/none"}, NumberParser(), {}).status()),
              HasSubstr("/none"));
}

TEST(CheckRowsTest, PipeCommandsAreRunAndTheirFailureIsAnError) {
  const TempDir dir;
  const std::string file = dir.Write("a", "x1\nx2\n");
  CheckRowsOptions options;
  options.reader.source.pipe_command = "cut -c2-";
  const auto report = CheckRows({file}, NumberParser(), options);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->rows, 2);
  options.reader.source.pipe_command = "cut -c2-; exit 3";
  EXPECT_THAT(Message(CheckRows({file}, NumberParser(), options).status()),
              HasSubstr("exited with code 3"));
}

}  // namespace
}  // namespace flotilla
