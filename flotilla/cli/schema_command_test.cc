
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/base/text_file.h"
#include "flotilla/cli/run_program_testing.h"
#include "flotilla/dataset/prepare/synth_criteo.h"
#include "flotilla/schema/statistics.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

class SchemaCommandTest : public ::testing::Test {
 protected:
  SchemaCommandTest() {
    std::string text = "age,city,click\n";
    for (int i = 0; i < 60; ++i)
      text += fmt::format("{},{},{}\n", i % 20, i % 3 ? "a" : "b", i % 2);
    file_ = dir_.Write("rows.csv", text);
  }

  const TempDir dir_;
  std::string file_;
  const std::string schema_ = dir_.path() + "/rows.schema";
};

TEST_F(SchemaCommandTest, WritesASchemaThatStatsAndCheckTake) {
  const ProgramRun made = RunForTest({"data", "schema", file_, "--out", schema_});
  ASSERT_EQ(made.code, kSuccess) << made.err;
  EXPECT_THAT(made.err, HasSubstr("csv (every line has 2 commas), the first line is the header"));
  const std::string text = *ReadWholeFile(schema_, 1 << 20);
  EXPECT_THAT(text, HasSubstr("age:number(log,standardise)+category"));
  EXPECT_THAT(text, HasSubstr("click:label"));
  const ProgramRun stats = RunForTest({"data", "stats", file_, "--schema", schema_, "--json"});
  ASSERT_EQ(stats.code, kSuccess) << stats.err;
  EXPECT_THAT(stats.err, HasSubstr("label click: click, mean 0.5"));
  const auto printed = nlohmann::json::parse(stats.out);
  EXPECT_EQ(printed["rows"], 60);
  EXPECT_EQ(printed["columns"][1]["top"][0]["value"], "a");
  EXPECT_EQ(printed["columns"][1]["top"][0]["count"], 40);
  EXPECT_EQ(ReadStatistics(schema_ + ".stats")->rows, 60);
  const ProgramRun check = RunForTest({"data", "check", file_, "--format", "csv", "--format_param",
                                       "schema_file=" + schema_, "--json"});
  ASSERT_EQ(check.code, kSuccess) << check.err;
  EXPECT_EQ(nlohmann::json::parse(check.out)["rows"], 60);
}

TEST_F(SchemaCommandTest, NeitherTheRowsNorAnEditedSchemaAreOverwritten) {
  const std::string rows = *ReadWholeFile(file_, 1 << 20);
  const ProgramRun onto_rows = RunForTest({"data", "schema", file_, "--out", file_, "--overwrite"});
  EXPECT_EQ(onto_rows.code, kFailure);
  EXPECT_THAT(onto_rows.err, HasSubstr("this file is read, give the output another name"));
  EXPECT_EQ(*ReadWholeFile(file_, 1 << 20), rows);
  const std::string edited = dir_.Write("edited", "age:number\n");
  const ProgramRun again = RunForTest({"data", "schema", file_, "--out", edited});
  EXPECT_EQ(again.code, kFailure);
  EXPECT_THAT(again.err, HasSubstr("the file exists; add --overwrite to replace it"));
  EXPECT_EQ(*ReadWholeFile(edited, 1 << 20), "age:number\n");
  EXPECT_EQ(RunForTest({"data", "schema", file_, "--out", edited, "--overwrite"}).code, kSuccess);
}

TEST_F(SchemaCommandTest, StatsPrintATable) {
  const ProgramRun run = RunForTest({"data", "stats", file_});
  ASSERT_EQ(run.code, kSuccess) << run.err;
  EXPECT_THAT(run.out, HasSubstr("column              type"));
  EXPECT_THAT(run.out, HasSubstr("age                 whole numbers"));
  EXPECT_THAT(run.out, HasSubstr("a (40), b (20)"));
}

TEST_F(SchemaCommandTest, FormatsWithoutASchemaAreTold) {
  const std::string svm = dir_.Write("rows.svm", "1 3:1\n-1 4:1\n");
  const ProgramRun run = RunForTest({"data", "schema", svm});
  EXPECT_EQ(run.code, kFailure);
  EXPECT_THAT(run.err, HasSubstr("the rows are libsvm"));
  EXPECT_THAT(run.err, HasSubstr("needs no schema"));
  std::string criteo;
  SynthCriteo::Make({.seed = 3})->Rows(0, 50, &criteo);
  const ProgramRun builtin = RunForTest({"data", "schema", dir_.Write("criteo", criteo)});
  ASSERT_EQ(builtin.code, kSuccess) << builtin.err;
  EXPECT_THAT(builtin.out, HasSubstr("I13:number(log)+bucket"));
}

TEST_F(SchemaCommandTest, UnknownLabelNamesTheColumns) {
  const ProgramRun run = RunForTest({"data", "schema", file_, "--label", "clicks"});
  EXPECT_EQ(run.code, kFailure);
  EXPECT_THAT(run.err, HasSubstr("no column 'clicks'; the columns are age, city, click"));
}

}  // namespace
}  // namespace flotilla
