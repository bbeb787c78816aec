#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/base/text_file.h"
#include "flotilla/cli/run_program_testing.h"
#include "flotilla/corpus/synth_corpus.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

ProgramRun Synth(std::vector<std::string> flags) {
  flags.insert(flags.begin(), {"data", "synth", "corpus"});
  return RunForTest(std::move(flags));
}

TEST(SynthCorpusCommandTest, WritesTextAndQuestionsThatDoNotDependOnTheThreads) {
  const TempDir dir;
  const SynthCorpus corpus = *SynthCorpus::Make({.seed = 3});
  std::string first, second;
  for (uint64_t block = 0; block < 100; ++block) corpus.Block(block, 10'000, &first);
  corpus.Block(100, 5, &second);
  for (const char* threads : {"1", "2"}) {
    const std::string out = dir.path() + "/" + threads;
    const ProgramRun run =
        Synth({"--words", "1000005", "--out", out, "--seed", "3", "--threads", threads, "--json"});
    ASSERT_EQ(run.code, kSuccess) << run.err;
    EXPECT_EQ(nlohmann::json::parse(run.out)["words"], 1'000'005);
    EXPECT_EQ(*ReadWholeFile(out + "/corpus/part-000000", 1 << 30), first);
    EXPECT_EQ(*ReadWholeFile(out + "/corpus/part-000001", 1 << 30), second);
    EXPECT_EQ(*ReadWholeFile(out + "/questions-words.txt", 1 << 30), corpus.Questions());
  }
}

TEST(SynthCorpusCommandTest, UsedDirectoryIsAFailureAndWrongFlagsAreUsageErrors) {
  const TempDir dir;
  dir.Write("used", "x");
  const ProgramRun used = Synth({"--words", "100", "--out", dir.path()});
  EXPECT_EQ(used.code, kFailure);
  EXPECT_THAT(used.err, HasSubstr("already has files"));
  EXPECT_EQ(Synth({"--words", "0", "--out", "x"}).code, kUsageError);
  EXPECT_EQ(Synth({"--words", "9", "--out", "x", "--vocabulary", "2000000"}).code, kUsageError);
}

}  // namespace
}  // namespace flotilla
