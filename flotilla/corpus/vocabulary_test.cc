#include "flotilla/corpus/vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/corpus/count_words.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;
using Counts = std::vector<WordCount>;

const Counts kCounts = {{"rare", 1}, {"b", 7}, {"a", 7}, {"the", 9}, {"few", 2}};

TEST(VocabularyTest, IsSortedByCountThenByWord) {
  const auto vocabulary = Vocabulary::FromCounts(kCounts, {.min_count = 2});
  ASSERT_TRUE(vocabulary.ok());
  EXPECT_EQ(vocabulary->words(), (Counts{{"the", 9}, {"a", 7}, {"b", 7}, {"few", 2}}));
  EXPECT_EQ(vocabulary->total(), 25u);
  EXPECT_EQ(vocabulary->Find("b"), 2u);
  EXPECT_EQ(vocabulary->Find("rare"), std::nullopt);
  EXPECT_EQ(vocabulary->unknown(), std::nullopt);
}

TEST(VocabularyTest, RareWordsBecomeTheUnknownWord) {
  const auto vocabulary = Vocabulary::FromCounts(kCounts, {.min_count = 7, .unknown_word = true});
  EXPECT_EQ(vocabulary->words(), (Counts{{"the", 9}, {"a", 7}, {"b", 7}, {"<UNK>", 3}}));
  EXPECT_EQ(vocabulary->unknown(), 3u);
  const auto none =
      Vocabulary::FromCounts({{"a", 3}, {"<UNK>", 5}}, {.min_count = 1, .unknown_word = true});
  EXPECT_EQ(none->words(), (Counts{{"<UNK>", 5}, {"a", 3}}));
}

TEST(VocabularyTest, SavesAndLoads) {
  const TempDir dir;
  const auto vocabulary = Vocabulary::FromCounts(kCounts, {.min_count = 2, .unknown_word = true});
  const std::string path = dir.path() + "/dict";
  ASSERT_TRUE(vocabulary->Save(path).ok());
  EXPECT_EQ(ContentOf(path), "the 9\na 7\nb 7\nfew 2\n<UNK> 1\n");
  ASSERT_TRUE(vocabulary->SaveIds(path + "_word_to_id_").ok());
  EXPECT_EQ(ContentOf(path + "_word_to_id_"), "the 0\na 1\nb 2\nfew 3\n<UNK> 4\n");
  const auto loaded = Vocabulary::Load(path);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->words(), vocabulary->words());
  EXPECT_EQ(loaded->total(), vocabulary->total());
  EXPECT_EQ(loaded->Find("few"), 3u);
}

TEST(VocabularyTest, ErrorsOfADictionaryNameFileAndLine) {
  const TempDir dir;
  const auto error = [&](std::string_view content) {
    return std::string(Message(Vocabulary::Load(dir.Write("d", content)).status()));
  };
  EXPECT_THAT(error("a 1\nb\n"), HasSubstr("/d:2: expected `word count`, found 'b'"));
  EXPECT_THAT(error("a x\n"), HasSubstr("/d:1: expected a count after the word, found 'x'"));
  EXPECT_THAT(error("a -1\n"), HasSubstr("/d:1: expected a count"));
  EXPECT_THAT(error("a b 1\n"), HasSubstr("/d:1: expected `word count`, found more than two"));
  EXPECT_THAT(error("a 1\nb 2\na 3\n"), HasSubstr("/d:3: duplicate word a"));
  EXPECT_THAT(error(""), HasSubstr("/d: has no words"));
  EXPECT_THAT(error(" 3\n"), HasSubstr("/d:1: expected `word count`"));
}

TEST(CountWordsTest, CountsAreExactForAnyNumberOfThreads) {
  const TempDir dir;
  std::string text;
  std::map<std::string, uint64_t> expected;
  for (int i = 0; i < 20000; ++i) {
    const std::string word(1 + i % 7, static_cast<char>('a' + i * i % 26));
    text += word + (i % 11 == 0 ? "\n" : " ");
    ++expected[word];
  }
  const std::vector<std::string> files = {dir.Write("a", text), dir.Write("b", text)};
  for (auto& [word, count] : expected) count *= 2;
  for (const int threads : {1, 3}) {
    const auto counts = CountWords(files, {.threads = threads, .blocks = {.block_bytes = 1000}});
    ASSERT_TRUE(counts.ok()) << counts.status();
    std::map<std::string, uint64_t> found;
    for (const WordCount& word : counts->words) found[word.word] += word.count;
    EXPECT_EQ(found, expected);
    EXPECT_EQ(counts->words.size(), expected.size()) << "a word is counted in two places";
    EXPECT_EQ(counts->total, 40000u);
    EXPECT_EQ(counts->lines, 2 * 1819);
    EXPECT_EQ(counts->bytes, static_cast<int64_t>(2 * text.size()));
  }
}

TEST(CountWordsTest, WordsThatAreNotUtf8AreCountedWithTheirFirstPlace) {
  const TempDir dir;
  std::string text;
  for (int i = 0; i < 1000; ++i)
    text += i >= 300 && i % 100 == 7 ? "gr\xfcn a\n" : "gr\xc3\xbcn a\n";
  const std::vector<std::string> files = {dir.Write("a", "x\n"), dir.Write("b", text)};
  for (const int threads : {1, 3}) {
    const auto counts = CountWords(files, {.tokenizer = TokenizerKind::kWhitespace,
                                           .threads = threads,
                                           .blocks = {.block_bytes = 1000}});
    ASSERT_TRUE(counts.ok()) << counts.status();
    EXPECT_EQ(counts->repaired, 7u);
    EXPECT_EQ(counts->first_repaired, files[1] + ":308");
  }
  EXPECT_EQ(CountWords({files[0]}, {.tokenizer = TokenizerKind::kWhitespace})->repaired, 0u);
}

TEST(CountWordsTest, AnEmptyCorpusHasNoWordsAndAMissingFileIsAnError) {
  const TempDir dir;
  const auto counts = CountWords({dir.Write("empty", "")}, {.threads = 2});
  ASSERT_TRUE(counts.ok());
  EXPECT_TRUE(counts->words.empty());
  const auto missing = CountWords({dir.path() + "/none"}, {.threads = 2});
  EXPECT_THAT(std::string(Message(missing.status())), HasSubstr("/none"));
}

}  // namespace
}  // namespace flotilla
