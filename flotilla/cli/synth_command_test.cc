#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/cli/run_program_testing.h"
#include "flotilla/cli/synth_files.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

SynthCriteo MakeSynth() { return *SynthCriteo::Make({.seed = 3}); }

TEST(SynthFilesTest, FilesAndScoreDoNotDependOnTheThreads) {
  const TempDir dir;
  const SynthCriteo synth = MakeSynth();
  std::string expected;
  synth.Rows(7, 1000, &expected);
  double logloss = 0;
  for (int threads : {1, 2, 3}) {
    const std::string out = dir.path() + fmt::format("/{}", threads);
    const auto score = WriteSynthFiles(
        synth, {.directory = out, .begin = 7, .end = 1000, .part_rows = 90, .threads = threads});
    ASSERT_TRUE(score.ok()) << score.status();
    std::string joined;
    for (int part = 0; part < 12; ++part)
      joined += ContentOf(out + fmt::format("/part-{:02}", part));
    EXPECT_EQ(joined, expected);
    EXPECT_EQ(score->rows(), 993);
    if (threads == 1) logloss = score->logloss();
    EXPECT_EQ(score->logloss(), logloss);
  }
}

TEST(SynthFilesTest, ErrorsNameTheFile) {
  const TempDir dir;
  const std::string file = dir.Write("file", "x");
  const auto blocked = WriteSynthFiles(MakeSynth(), {.directory = file + "/x", .end = 5});
  EXPECT_THAT(Message(blocked.status()), HasSubstr(file + "/x"));
  const auto used = WriteSynthFiles(MakeSynth(), {.directory = dir.path(), .end = 5});
  EXPECT_THAT(Message(used.status()), HasSubstr(dir.path() + " already has files"));
}

TEST(SynthCommandTest, WritesTrainAndTestRowsAndTheBestQuality) {
  const TempDir dir;
  const std::string out = dir.path() + "/data";
  const ProgramRun run = RunForTest({"data", "synth", "criteo", "--rows", "3000", "--test_rows",
                                     "1000", "--out", out, "--seed", "3", "--json"});
  ASSERT_EQ(run.code, kSuccess) << run.err;
  const auto report = nlohmann::json::parse(run.out);
  EXPECT_EQ(report, nlohmann::json::parse(ContentOf(out + "/oracle.json")));
  EXPECT_EQ(report["train"]["rows"], 3000);
  EXPECT_EQ(report["test"]["rows"], 1000);
  EXPECT_GT(report["test"]["auc"], 0.75);
  EXPECT_LT(report["test"]["auc"], 0.95);
  std::string expected;
  MakeSynth().Rows(3000, 4000, &expected);
  EXPECT_EQ(ContentOf(out + "/test/part-0"), expected);
}

TEST(SynthCommandTest, TestRowsAreATenthUnlessGiven) {
  const TempDir dir;
  const ProgramRun run =
      RunForTest({"data", "synth", "criteo", "--rows", "500", "--out", dir.path()});
  ASSERT_EQ(run.code, kSuccess) << run.err;
  const std::string text = ContentOf(dir.path() + "/test/part-0");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 50);
  EXPECT_THAT(run.out, HasSubstr("best auc"));
}

TEST(SynthCommandTest, ADirectoryWithRowsIsAFailure) {
  const TempDir dir;
  const std::vector<std::string> args = {"data", "synth", "criteo",  "--rows",
                                         "10",   "--out", dir.path()};
  EXPECT_EQ(RunForTest(args).code, kSuccess);
  const ProgramRun again = RunForTest(args);
  EXPECT_EQ(again.code, kFailure);
  EXPECT_THAT(again.err, HasSubstr("/train already has files"));
}

}  // namespace
}  // namespace flotilla
