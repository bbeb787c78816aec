#include "flotilla/corpus/corpus_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "flotilla/base/rng.h"
#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/corpus/down_sampling.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

Vocabulary SomeWords() {
  return *Vocabulary::FromWords({{"the", 1000}, {"cat", 10}, {"<UNK>", 5}, {"sat", 3}});
}

TEST(DownSamplingTest, KeepsByTheFormulaOfTheOriginal) {
  // f = 0.01, t = 0.001: (sqrt(10) + 1) / 10.
  EXPECT_NEAR(KeepProbability(100, 10000, 1e-3), 0.4162278, 1e-6);
  EXPECT_GE(KeepProbability(1, 10000, 1e-3), 1);
  EXPECT_EQ(KeepProbability(100, 10000, 0), 1);
  EXPECT_EQ(KeepProbability(0, 10000, 1e-3), 1);
  const Vocabulary vocabulary = *Vocabulary::FromWords({{"the", 9900}, {"cat", 100}});
  const DownSampling sampling(vocabulary, 1e-3);
  int kept = 0;
  for (uint64_t i = 0; i < 20000; ++i) kept += sampling.Keeps(0, RngKey(1).Bits(i));
  EXPECT_NEAR(kept, 20000 * KeepProbability(9900, 10000, 1e-3), 150);
}

TEST(FilterCorpusTest, WritesALineOfIdsForEveryLine) {
  const TempDir dir;
  const std::vector<std::string> files = {dir.Write("a", "The cat sat\n\non a mat\nthe"),
                                          dir.Write("b", "")};
  const auto result =
      FilterCorpus(files, SomeWords(), dir.path() + "/out", {.downsample = 0, .threads = 2});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(ContentOf(dir.path() + "/out/a"), "0 1 3\n\n2 2 2\n0\n");
  EXPECT_EQ(ContentOf(dir.path() + "/out/b"), "");
  EXPECT_EQ(result->words, 7u);
  EXPECT_EQ(result->unknown, 3u);
  EXPECT_EQ(result->written, 7u);
}

TEST(FilterCorpusTest, RareWordsOfTheDictionaryBecomeUnknownAndIdsStay) {
  const TempDir dir;
  const std::vector<std::string> files = {dir.Write("a", "the cat sat on the mat\n")};
  const auto words = [](bool unknown) {
    std::vector<WordCount> counts = {{"the", 9}, {"cat", 5}, {"sat", 5}, {"mat", 6}};
    if (unknown) counts.push_back({"<UNK>", 1});
    return *Vocabulary::FromWords(counts);
  };
  const auto filter = [&](const Vocabulary& vocabulary, uint64_t min_count) {
    const auto result = FilterCorpus(files, vocabulary, dir.path() + "/out",
                                     {.min_count = min_count, .downsample = 0});
    EXPECT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->unknown, min_count == 0 ? 1u : 3u);
    return ContentOf(dir.path() + "/out/a");
  };
  EXPECT_EQ(filter(words(true), 0), "0 1 2 4 0 3\n");
  EXPECT_EQ(filter(words(true), 5), "0 4 4 4 0 3\n");
  EXPECT_EQ(filter(words(false), 5), "0 0 3\n");  // no <UNK>: dropped
}

TEST(FilterCorpusTest, DownSamplingDependsOnTheSeedAndNotOnThreads) {
  const TempDir dir;
  std::string text;
  for (int i = 0; i < 3000; ++i) text += i % 20 == 0 ? "cat\n" : "the ";
  const std::vector<std::string> files = {dir.Write("a", text)};
  const auto filter = [&](int threads, uint64_t seed) {
    const auto result = FilterCorpus(
        files, SomeWords(), dir.path() + "/out",
        {.downsample = 1e-2, .seed = seed, .threads = threads, .blocks = {.block_bytes = 500}});
    EXPECT_TRUE(result.ok()) << result.status();
    // "the" is kept with probability 0.11.
    EXPECT_NEAR(static_cast<double>(result->written), 150 + 2850 * 0.1119, 60);
    return ContentOf(dir.path() + "/out/a");
  };
  const std::string one = filter(1, 7);
  EXPECT_EQ(std::count(one.begin(), one.end(), '\n'), 151);
  EXPECT_EQ(filter(3, 7), one);
  EXPECT_NE(filter(1, 8), one);
}

TEST(FilterCorpusTest, TwoFilesOfOneNameAreAnError) {
  const TempDir dir;
  const auto result = FilterCorpus({"x/a.zst", "y/a"}, SomeWords(), dir.path() + "/out", {});
  EXPECT_THAT(std::string(Message(result.status())),
              HasSubstr("x/a.zst and y/a would both become"));
  EXPECT_FALSE(std::filesystem::exists(dir.path() + "/out"));
}

TEST(ResplitCorpusTest, LosesNoLine) {
  const TempDir dir;
  std::string all, first, second;
  for (int i = 0; i < 103; ++i) (i < 50 ? first : second) += fmt::format("line {} of it\n", i);
  all = first + second;
  second.pop_back();
  const std::vector<std::string> files = {dir.Write("a", first), dir.Write("b", second)};
  for (const size_t block_bytes : {5, 64, 100000}) {
    const auto result = ResplitCorpus(files, 10, dir.path() + "/out",
                                      {.threads = 2, .blocks = {.block_bytes = block_bytes}});
    ASSERT_TRUE(result.ok()) << result.status();
    EXPECT_EQ(result->lines, 103);
    std::string together;
    for (int i = 0; i < 10; ++i) {
      const std::string part = ContentOf(fmt::format("{}/out/part-{}", dir.path(), i));
      EXPECT_THAT(std::count(part.begin(), part.end(), '\n'), ::testing::AnyOf(10, 11));
      together += part;
    }
    EXPECT_EQ(together, all);
  }
}

TEST(ResplitCorpusTest, MoreFilesThanLinesLeaveSomeEmptyAndNoLinesAreAnError) {
  const TempDir dir;
  const std::string out = dir.path() + "/out";
  ASSERT_TRUE(ResplitCorpus({dir.Write("a", "x\ny\n")}, 4, out, {}).ok());
  std::string together;
  for (int i = 0; i < 4; ++i) together += ContentOf(fmt::format("{}/part-{}", out, i));
  EXPECT_EQ(together, "x\ny\n");
  EXPECT_THAT(std::string(Message(ResplitCorpus({dir.Write("e", "")}, 4, out, {}).status())),
              HasSubstr("no lines"));
}

}  // namespace
}  // namespace flotilla
