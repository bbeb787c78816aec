#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/base/text_file.h"
#include "flotilla/cli/run_program_testing.h"
#include "flotilla/dataset/prepare/synth_criteo.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

class CriteoCommandTest : public ::testing::Test {
 protected:
  CriteoCommandTest() {
    std::string text;
    SynthCriteo::Make({.seed = 3})->Rows(0, 500, &text);
    file_ = dir_.Write("rows", text);
  }
  ProgramRun Run(std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"data", "criteo", file_, "--out", out_});
    return RunForTest(flags);
  }

  const TempDir dir_;
  std::string file_;
  const std::string out_ = dir_.path() + "/out";
};

TEST_F(CriteoCommandTest, PrintsWhatItKeepsInTheStatisticsFile) {
  const ProgramRun run = Run({"--test_share", "0.2", "--seed", "5", "--json"});
  ASSERT_EQ(run.code, kSuccess) << run.err;
  const auto json = nlohmann::json::parse(run.out);
  const auto file = nlohmann::json::parse(*ReadWholeFile(out_ + "/statistics.json", 1 << 20));
  for (const auto& [key, value] : file.items()) EXPECT_EQ(json[key], value) << key;
  EXPECT_EQ(file["train_rows"].get<int>() + file["test_rows"].get<int>(), 500);
  EXPECT_NEAR(file["test_rows"].get<int>(), 100, 40);
  EXPECT_EQ(file["seed"], 5);
  EXPECT_EQ(json["skipped"], 0);
  EXPECT_THAT(run.err, HasSubstr("wrote 500 rows to " + out_));
}

TEST_F(CriteoCommandTest, TableSaysWhenCountsAreApproximate) {
  const ProgramRun exact = Run({"--min_count", "2"});
  ASSERT_EQ(exact.code, kSuccess) << exact.err;
  EXPECT_THAT(exact.out, HasSubstr("exact, "));
  EXPECT_THAT(exact.out, HasSubstr("95th percentile"));
  const ProgramRun bounded =
      RunForTest({"data", "criteo", file_, "--out", dir_.path() + "/bounded", "--min_count", "2",
                  "--memory", "50kb", "--buckets", "log2"});
  ASSERT_EQ(bounded.code, kSuccess) << bounded.err;
  EXPECT_THAT(bounded.out, HasSubstr("approximate: more memory"));
}

TEST_F(CriteoCommandTest, BadRowsAreFailuresOrTold) {
  file_ = dir_.Write("bad", "1\tx\n" + *ReadWholeFile(file_, 1 << 30));
  const ProgramRun failed = Run({});
  EXPECT_EQ(failed.code, kFailure);
  EXPECT_THAT(failed.err, HasSubstr(file_ + ":1:3: number I1: expected a whole number"));
  const ProgramRun skipped = Run({"--max_bad_rows", "1", "--json"});
  ASSERT_EQ(skipped.code, kSuccess) << skipped.err;
  EXPECT_EQ(nlohmann::json::parse(skipped.out)["skipped"], 1);
  EXPECT_THAT(skipped.err, HasSubstr("skipped " + file_ + ":1:3: "));
}

TEST_F(CriteoCommandTest, WrongFlagsAreUsageErrors) {
  EXPECT_EQ(Run({"--test_share", "1.5"}).code, kUsageError);
  EXPECT_EQ(Run({"--memory", "1GB"}).code, kUsageError);
  EXPECT_EQ(Run({"--memory", "lots", "--min_count", "2"}).code, kUsageError);
  EXPECT_EQ(Run({"--buckets", "log3"}).code, kUsageError);
}

}  // namespace
}  // namespace flotilla
