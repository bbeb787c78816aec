// The corpus commands together: text to dictionary to ids to parts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/cli/run_program_testing.h"
#include "flotilla/fleet/command_line.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(CorpusCommandsTest, TextBecomesADictionaryThenIdsThenParts) {
  const TempDir dir;
  const std::string text = dir.Write("text", "The cat saw the dog.\nA cat sat, the cat!\n");
  const std::string dict = dir.path() + "/dict", ids = dir.path() + "/ids";
  const ProgramRun built = RunForTest({"data", "corpus", "build-dict", "--data", text, "--dict",
                                       dict, "--min_count", "1", "--json"});
  ASSERT_EQ(built.code, 0) << built.err;
  EXPECT_EQ(ContentOf(dict), "<UNK> 4\ncat 3\nthe 3\n");
  const auto counts = nlohmann::json::parse(built.out);
  EXPECT_EQ(counts["words"], 10);
  EXPECT_EQ(counts["distinct"], 6);
  EXPECT_EQ(counts["unknown"], 4);
  const ProgramRun filtered = RunForTest({"data", "corpus", "filter", "--data", text, "--dict",
                                          dict, "--out", ids, "--downsample", "0"});
  ASSERT_EQ(filtered.code, 0) << filtered.err;
  EXPECT_EQ(ContentOf(ids + "/text"), "2 1 0 2 0\n0 1 0 2 1\n");
  EXPECT_EQ(ContentOf(dict + "_word_to_id_"), "<UNK> 0\ncat 1\nthe 2\n");
  const ProgramRun split =
      RunForTest({"data", "corpus", "resplit", "2", "--data", ids, "--out", dir.path() + "/parts"});
  ASSERT_EQ(split.code, 0) << split.err;
  EXPECT_EQ(ContentOf(dir.path() + "/parts/part-1"), "0 1 0 2 1\n");
}

TEST(CorpusCommandsTest, LettersThatTheTokenizerDeletesAreTold) {
  const TempDir dir;
  const std::string german = dir.Write("german", "\u00fcber die Br\u00fccke\n");
  const std::string chinese = dir.Write("chinese", "\u6211\u4eec\n");
  const std::string dict = dir.path() + "/dict";
  const ProgramRun built =
      RunForTest({"data", "corpus", "build-dict", "--data", german, "--dict", dict});
  EXPECT_EQ(built.code, 0) << built.err;
  EXPECT_THAT(built.err, HasSubstr("--tokenizer whitespace keeps them"));
  const ProgramRun none =
      RunForTest({"data", "corpus", "build-dict", "--data", chinese, "--dict", dict});
  EXPECT_EQ(none.code, kFailure);
  EXPECT_THAT(none.err, HasSubstr("no words in 1 files"));
  EXPECT_THAT(none.err, HasSubstr("--tokenizer whitespace keeps them"));
  const ProgramRun kept = RunForTest({"data", "corpus", "build-dict", "--data", german, "--dict",
                                      dict, "--tokenizer", "whitespace"});
  EXPECT_EQ(kept.code, 0) << kept.err;
  EXPECT_THAT(kept.err, Not(HasSubstr("--tokenizer")));
}

TEST(CorpusCommandsTest, BadInputIsAClearMessage) {
  const TempDir dir;
  const std::string empty = dir.Write("empty", " 1 2 3\n");
  const ProgramRun none =
      RunForTest({"data", "corpus", "build-dict", "--data", empty, "--dict", dir.path() + "/dict"});
  EXPECT_EQ(none.code, kFailure);
  EXPECT_THAT(none.err, HasSubstr("--data: no words in 1 files"));
  const ProgramRun bad = RunForTest({"data", "corpus", "filter", "--data", empty, "--dict",
                                     dir.Write("bad", "the\n"), "--out", dir.path() + "/out"});
  EXPECT_EQ(bad.code, kFailure);
  EXPECT_THAT(bad.err, HasSubstr("--dict: " + dir.path() + "/bad:1: expected `word count`"));
  const ProgramRun tokenizer = RunForTest(
      {"data", "corpus", "build-dict", "--data", empty, "--dict", "d", "--tokenizer", "englisch"});
  EXPECT_EQ(tokenizer.code, kUsageError);
  EXPECT_THAT(tokenizer.err, HasSubstr("did you mean english?"));
}

}  // namespace
}  // namespace flotilla
