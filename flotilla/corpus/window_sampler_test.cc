#include "flotilla/corpus/window_sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace flotilla {
namespace {

Vocabulary WordsWithCounts(std::vector<uint64_t> counts) {
  std::vector<WordCount> words;
  for (size_t i = 0; i < counts.size(); ++i) words.push_back({fmt::format("w{}", i), counts[i]});
  return *Vocabulary::FromWords(words);
}

IdBatch BatchOf(const std::vector<uint32_t>& ids, int64_t ordinal = 3) {
  IdBatch batch;
  batch.ordinal = ordinal;
  batch.ids = ids;
  return batch;
}

TEST(WindowSamplerTest, WindowsReachOneToWindowWordsAndStayInTheSentence) {
  const auto sampler = WindowSampler::Make(WordsWithCounts({5, 4, 3}), {.window = 3, .sample = 0});
  ASSERT_TRUE(sampler.ok());
  std::vector<uint32_t> ids;
  for (int sentence = 0; sentence < 200; ++sentence) {
    for (int i = 0; i < sentence % 9; ++i) ids.push_back(static_cast<uint32_t>(i % 3));
    ids.push_back(kSentenceEnd);
  }
  KeptWords kept;
  sampler->Keep(0, BatchOf(ids), &kept);
  std::map<size_t, int> reaches;
  size_t word = 0;
  for (int sentence = 0; sentence < 200; ++sentence) {
    const size_t begin = word, end = word + static_cast<size_t>(sentence % 9);
    for (; word < end; ++word) {
      ASSERT_EQ(kept.ids[word], (word - begin) % 3);
      const auto window = sampler->WindowOf(kept, word);
      ASSERT_GE(window.first, begin);
      ASSERT_LE(window.last, end);
      ASSERT_LE(window.first, word);
      ASSERT_GT(window.last, word);
      if (word - begin >= 3 && end - word > 3) {
        ASSERT_EQ(word - window.first, window.last - word - 1) << "the same on both sides";
        ++reaches[word - window.first];
      }
    }
  }
  ASSERT_EQ(word, kept.size());
  EXPECT_EQ(reaches.size(), 3u);
  for (const auto& [reach, count] : reaches) EXPECT_GT(count, 5) << reach;
}

TEST(WindowSamplerTest, FixedWindowsAreAlwaysWhole) {
  const auto sampler =
      WindowSampler::Make(WordsWithCounts({5, 4}), {.window = 2, .fixed = true, .sample = 0});
  ASSERT_TRUE(sampler.ok());
  const std::vector<uint32_t> ids = {0, 1, 0, 1, 0, kSentenceEnd};
  KeptWords kept;
  sampler->Keep(0, BatchOf(ids), &kept);
  for (size_t word = 0; word < 5; ++word) {
    const auto window = sampler->WindowOf(kept, word);
    EXPECT_EQ(window.first, word < 2 ? 0 : word - 2);
    EXPECT_EQ(window.last, std::min<size_t>(5, word + 3));
  }
}

TEST(WindowSamplerTest, DrawsRepeatAndDependOnSeedEpochAndBatch) {
  const Vocabulary words = WordsWithCounts({100, 50, 3, 2, 1});
  std::vector<uint32_t> ids;
  for (uint32_t i = 0; i < 500; ++i) ids.push_back(i % 2);
  ids.push_back(kSentenceEnd);
  const auto draw = [&](uint64_t seed, int64_t epoch, int64_t ordinal) {
    const auto sampler = WindowSampler::Make(words, {.sample = 0.1, .seed = seed});
    KeptWords kept;
    sampler->Keep(epoch, BatchOf(ids, ordinal), &kept);
    std::vector<uint32_t> all = kept.ids;
    for (size_t i = 0; i < kept.size(); ++i) {
      const auto window = sampler->WindowOf(kept, i);
      all.push_back(static_cast<uint32_t>(window.last - window.first));
      uint32_t negatives[5];
      sampler->NegativesOf(kept, i, negatives);
      all.insert(all.end(), negatives, negatives + 5);
    }
    return all;
  };
  EXPECT_EQ(draw(1, 2, 3), draw(1, 2, 3));
  const std::set<std::vector<uint32_t>> different = {draw(1, 2, 3), draw(2, 2, 3), draw(1, 3, 3),
                                                     draw(1, 2, 4)};
  EXPECT_EQ(different.size(), 4u);
}

TEST(WindowSamplerTest, NegativesFollowTheCountsAndAreNeverTheWordItself) {
  const std::vector<uint64_t> counts = {1000, 100, 10, 0, 1};
  const auto sampler = WindowSampler::Make(WordsWithCounts(counts), {.sample = 0});
  const std::vector<uint32_t> ids(20000, 1);
  std::vector<uint32_t> batch = ids;
  batch.push_back(kSentenceEnd);
  KeptWords kept;
  sampler->Keep(0, BatchOf(batch), &kept);
  std::vector<double> drawn(counts.size());
  for (size_t i = 0; i < kept.size(); ++i) {
    uint32_t negatives[5];
    sampler->NegativesOf(kept, i, negatives);
    for (const uint32_t id : negatives) ++drawn[id];
  }
  EXPECT_EQ(drawn[1], 0);
  EXPECT_EQ(drawn[3], 0);
  const double sum = std::pow(1000, 0.75) + std::pow(10, 0.75) + 1;
  EXPECT_NEAR(drawn[0] / 1e5, std::pow(1000, 0.75) / sum, 0.005);
  EXPECT_NEAR(drawn[2] / 1e5, std::pow(10, 0.75) / sum, 0.003);
}

TEST(WindowSamplerTest, TinyVocabulariesHaveWhatNegativesTheyCan) {
  EXPECT_EQ(WindowSampler::Make(WordsWithCounts({7}), {})->negatives(), 0);
  EXPECT_EQ(WindowSampler::Make(WordsWithCounts({7, 0}), {})->negatives(), 0);
  const auto two = WindowSampler::Make(WordsWithCounts({uint64_t{1} << 60, 1}), {.sample = 0});
  ASSERT_EQ(two->negatives(), 5);
  const std::vector<uint32_t> batch = {0, 1, kSentenceEnd};
  KeptWords kept;
  two->Keep(0, BatchOf(batch), &kept);
  uint32_t negatives[5];
  two->NegativesOf(kept, 0, negatives);
  EXPECT_THAT(negatives, ::testing::Each(1u));
  two->NegativesOf(kept, 1, negatives);
  EXPECT_THAT(negatives, ::testing::Each(0u));
}

TEST(WindowSamplerTest, OptionsThatMakeNoSenseAreErrors) {
  const auto error = [](const WindowOptions& options) {
    return std::string(Message(WindowSampler::Make(WordsWithCounts({2, 1}), options).status()));
  };
  EXPECT_EQ(error({.window = 0}), "a window of 0 words is not in [1, 10000]");
  EXPECT_EQ(error({.negatives = -1}), "-1 negatives are not in [0, 10000]");
  EXPECT_EQ(error({.sample = -1}), "a down-sampling threshold of -1 is not a number >= 0");
  EXPECT_EQ(Message(WindowSampler::Make(WordsWithCounts({0}), {}).status()),
            "the vocabulary has no words that occur");
}

}  // namespace
}  // namespace flotilla
