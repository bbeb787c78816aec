#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/cli/run_program_testing.h"
#include "flotilla/dataset/prepare/synth_criteo.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

constexpr char kInputs[] = "x:dense:2 words:ids user:id click:label";

ProgramRun Check(std::vector<std::string> args) {
  args.insert(args.begin(), {"data", "check"});
  return RunForTest(std::move(args));
}

TEST(CheckCommandTest, SummaryHasRowsAndIdsPerInput) {
  const TempDir dir;
  const std::string file = dir.Write("rows", "2 0.5 1 3 7 8 9 1 5 1 0\n2 1 1 0 1 5 1 1\n");
  const ProgramRun run = Check({file, "--format", "multislot", "--inputs", kInputs, "--json"});
  ASSERT_EQ(run.code, kSuccess) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  EXPECT_EQ(json["rows"], 2);
  EXPECT_EQ(json["bad_rows"], 0);
  EXPECT_EQ(json["inputs"]["words"], nlohmann::json({{"ids", 3}, {"most", 3}, {"empty", 1}}));
  EXPECT_EQ(json["inputs"]["user"], nlohmann::json({{"ids", 2}, {"most", 1}, {"empty", 0}}));
  EXPECT_EQ(json["inputs"].size(), 2u);
  const ProgramRun table = Check({file, "--format", "multislot", "--inputs", kInputs});
  EXPECT_THAT(table.out, HasSubstr("words"));
}

TEST(CheckCommandTest, BadRowsAreFailuresWithTheirPlaces) {
  const TempDir dir;
  const std::string file = dir.Write(
      "rows", "2 0.5 1 0 1 5 1 0\n2 0.5 y 0 1 5 1 1\n2 1 1 0 2 5 6 1 1\n2 1 1 0 1 5 1 1\n");
  const std::vector<std::string> args = {file, "--format", "multislot", "--inputs", kInputs};
  const ProgramRun first = Check(args);
  EXPECT_EQ(first.code, kFailure);
  EXPECT_THAT(first.err, HasSubstr("flotilla data check: " + file + ":2:7: slot x: expected"));
  EXPECT_THAT(first.err, Not(HasSubstr(":3:")));
  std::vector<std::string> more = args;
  more.insert(more.end(), {"--max_bad_rows", "5", "--json"});
  const ProgramRun all = Check(more);
  EXPECT_EQ(all.code, kFailure);
  EXPECT_THAT(all.err, HasSubstr("2 bad rows:\n  " + file + ":2:7"));
  EXPECT_THAT(all.err, HasSubstr(file + ":3:9: slot user"));  // the single slot has two
  const auto json = nlohmann::json::parse(all.out);
  EXPECT_EQ(json["rows"], 2);
  EXPECT_EQ(json["bad_rows"], 2);
  EXPECT_EQ(json["samples"].size(), 2u);
}

TEST(CheckCommandTest, ASchemaSaysWhatTheColumnsAre) {
  const TempDir dir;
  const std::string file = dir.Write("rows", "item,price,click\na,1,0\nb,2,1\nc,x,1\n");
  const std::string schema =
      dir.Write("s", "header=yes item:category price:number(standardise) click:label");
  const ProgramRun bad = Check({file, "--schema", schema});
  EXPECT_EQ(bad.code, kFailure);
  EXPECT_THAT(bad.err, HasSubstr(file + ":4:3: column price: expected a number, found 'x'"));
  dir.Write("rows", "item,price,click\na,1,0\nb,2,1\n");
  const ProgramRun good = Check({file, "--schema", schema, "--json"});
  EXPECT_EQ(good.code, kSuccess) << good.err;
  EXPECT_EQ(nlohmann::json::parse(good.out)["rows"], 2);
  EXPECT_THAT(Check({file, "--schema", schema, "--format", "libsvm"}).err,
              HasSubstr("--schema describes csv and tsv rows"));
}

TEST(CheckCommandTest, InputsComeFromTheModelOrTheFormat) {
  const TempDir dir;
  std::string text;
  SynthCriteo::Make({.seed = 3})->Rows(0, 20, &text);
  const std::string criteo = dir.Write("criteo", text);
  EXPECT_EQ(Check({criteo, "--format", "criteo"}).code, kSuccess);
  EXPECT_EQ(Check({criteo, "--model", "ctr_dnn"}).code, kSuccess);  // the model's own format
  const std::string csv = dir.Write("rows.csv", "x,1\ny,0\n");
  const std::string schema = dir.Write("schema", "city:id click:label");
  EXPECT_EQ(Check({csv, "--format", "csv", "--format_param", "schema_file=" + schema}).code,
            kSuccess);
  const ProgramRun lines = Check({"--format_param", "numeric=log", "--format_param", "hash_dim=9",
                                  criteo, "--format", "criteo"});
  EXPECT_EQ(lines.code, kSuccess) << lines.err;
}

TEST(CheckCommandTest, OutputOfAPipeCommandIsChecked) {
  const TempDir dir;
  const std::string file = dir.Write("raw", "5\n6\n");
  const std::vector<std::string> args = {file, "--format", "multislot", "--inputs", "user:id"};
  std::vector<std::string> good = args;
  good.insert(good.end(), {"--pipe_command", "sed 's/^/1 /'"});
  EXPECT_EQ(Check(good).code, kSuccess);
  std::vector<std::string> failing = args;
  failing.insert(failing.end(), {"--pipe_command", "exit 3", "--pipe_timeout", "9"});
  const ProgramRun run = Check(failing);
  EXPECT_EQ(run.code, kFailure);
  EXPECT_THAT(run.err, HasSubstr("command `exit 3` exited with code 3"));
}

TEST(CheckCommandTest, HelpListsTheParametersOfTheFormats) {
  const ProgramRun run = RunForTest({"data", "check", "--help"});
  EXPECT_EQ(run.code, kSuccess);
  for (const char* text : {"multislot: for each input", "schema_file", "statistics_file"}) {
    EXPECT_THAT(run.out, HasSubstr(text));
  }
}

TEST(CheckCommandTest, WrongFlagsAreUsageErrors) {
  const auto error_of = [](std::vector<std::string> args) {
    args.insert(args.begin(), "file");
    const ProgramRun run = Check(std::move(args));
    EXPECT_EQ(run.code, kUsageError);
    return run.err;
  };
  EXPECT_THAT(error_of({}), HasSubstr("give --model, --inputs or --format"));
  EXPECT_THAT(error_of({"--format", "libsvn"}), HasSubstr("did you mean libsvm?"));
  EXPECT_THAT(error_of({"--format", "multislot"}), HasSubstr("give --model or --inputs"));
  EXPECT_THAT(error_of({"--format", "multislot", "--inputs", "x"}), HasSubstr("--inputs: 'x' is"));
  EXPECT_THAT(error_of({"--format", "multislot", "--inputs", "x:id", "--model", "ctr_dnn"}),
              HasSubstr("give one of them"));
  EXPECT_THAT(error_of({"--format", "criteo", "--format_param", "numeric"}),
              HasSubstr("KEY=VALUE"));
  EXPECT_THAT(error_of({"--format", "criteo", "--format_param", "a=b"}),
              HasSubstr("unknown parameter a"));
  EXPECT_THAT(error_of({"--format", "criteo", "--model", "ctr"}), HasSubstr("unknown model"));
}

}  // namespace
}  // namespace flotilla
