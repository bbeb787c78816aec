#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/base/text_file.h"
#include "flotilla/cli/run_program_testing.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

TEST(GenerateCommandTest, WritesRowsThatTheCheckAccepts) {
  const TempDir dir;
  const std::string raw = dir.Write("raw", "5\n6\n");
  const std::string out = dir.path() + "/rows";
  const ProgramRun run = RunForTest(
      {"data", "generate", "--command", "sed 's/^/1 /'", "--data", raw, "--out", out, "--json"});
  ASSERT_EQ(run.code, kSuccess) << run.err;
  EXPECT_EQ(nlohmann::json::parse(run.out)["rows"], 2);
  EXPECT_EQ(*ReadWholeFile(out + "/part-000000", 99), "1 5\n1 6\n");
  EXPECT_EQ(RunForTest({"data", "check", out, "--format", "multislot", "--inputs", "user:id"}).code,
            kSuccess);
}

TEST(GenerateCommandTest, PrintsTheRowsAndNothingElse) {
  const TempDir dir;
  const std::string raw = dir.Write("raw", "5\n6\n");
  const std::vector<std::string> args = {"data",   "generate", "--command", "sed 's/^/1 /'",
                                         "--data", raw,        "--out",     "-"};
  const ProgramRun run = RunForTest(args);
  ASSERT_EQ(run.code, kSuccess) << run.err;
  EXPECT_EQ(run.out, "1 5\n1 6\n");
  std::vector<std::string> json = args;
  json.push_back("--json");
  EXPECT_EQ(RunForTest(json).code, kUsageError);
}

TEST(GenerateCommandTest, FailureHasTheStandardErrorOfTheGenerator) {
  const TempDir dir;
  const std::string raw = dir.Write("raw", "5\n");
  const ProgramRun run = RunForTest({"data", "generate", "--command", "echo no slot >&2; exit 3",
                                     "--data", raw, "--out", dir.path() + "/rows"});
  EXPECT_EQ(run.code, kFailure);
  EXPECT_THAT(run.err, HasSubstr("exited with code 3"));
  EXPECT_THAT(run.err, HasSubstr("no slot"));
}

TEST(GenerateCommandTest, HelpShowsHowToDebugAGenerator) {
  const ProgramRun run = RunForTest({"data", "generate", "--help"});
  EXPECT_EQ(run.code, kSuccess);
  EXPECT_THAT(run.out, HasSubstr("cat FILE | ./generator\n"));
  EXPECT_THAT(run.out, HasSubstr("| flotilla data check - --format multislot"));
}

}  // namespace
}  // namespace flotilla
