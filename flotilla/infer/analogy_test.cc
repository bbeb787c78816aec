// Tests of nearest words, analogies and word similarity, which all compare word vectors.
#include "flotilla/infer/analogy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "flotilla/base/rng.h"
#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/infer/nearest_words.h"
#include "flotilla/infer/word_similarity.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

WordVectors RandomVectors(size_t words, int64_t dim) {
  std::vector<WordCount> list;
  for (size_t i = 0; i < words; ++i) list.push_back({fmt::format("w{}", i), words - i});
  WordVectors vectors{.vocabulary = *Vocabulary::FromWords(list), .dim = dim};
  vectors.values.resize(words * static_cast<size_t>(dim));
  for (size_t i = 0; i < vectors.values.size(); ++i) vectors.values[i] = RngKey(2).Normal(i);
  return vectors;
}

double Product(const float* a, const float* b, int64_t dim) {
  double sum = 0;
  for (int64_t i = 0; i < dim; ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum;
}

TEST(NearestWordsTest, EqualsASortOfAllInnerProducts) {
  const WordVectors unit = RandomVectors(2500, 7).Normalized();
  constexpr size_t kPoints = 200;
  const std::span<const float> points = std::span(unit.values).first(kPoints * 7);
  std::vector<std::vector<uint32_t>> excluded(kPoints);
  for (uint32_t p = 0; p < kPoints; ++p) excluded[p] = {p, p + 1};
  for (const int64_t words : {0, 1500}) {
    const size_t candidates = words > 0 ? 1500 : 2500;
    const auto found =
        NearestWords(unit, points, excluded, {.top = 5, .words = words, .threads = 2});
    ASSERT_EQ(found.size(), kPoints);
    for (uint32_t p = 0; p < kPoints; ++p) {
      std::vector<std::pair<double, uint32_t>> all;
      for (uint32_t id = 0; id < candidates; ++id) {
        if (id != p && id != p + 1) all.emplace_back(-Product(unit.row(p), unit.row(id), 7), id);
      }
      std::sort(all.begin(), all.end());
      ASSERT_EQ(found[p].size(), 5u);
      for (size_t k = 0; k < 5; ++k) {
        EXPECT_NEAR(found[p][k].similarity, -all[k].first, 1e-5);
        EXPECT_EQ(found[p][k].id, all[k].second);
      }
    }
  }
}

// Vectors in a plane: man, woman, king, queen, arranged by sex and rank.
WordVectors Royals() {
  WordVectors vectors{
      .vocabulary = *Vocabulary::FromWords(
          {{"man", 9}, {"woman", 8}, {"king", 7}, {"queen", 6}, {"apple", 5}, {"<UNK>", 4}}),
      .dim = 3};
  vectors.values = {1, 0, 0, 0, 1, 0, 1, 0, 1, 0, 1, 1, -1, -1, -1, 0.1f, 0.1f, -1};
  return vectors;
}

TEST(SimilarWordsTest, AddsAndSubtractsWords) {
  const WordVectors unit = Royals().Normalized();
  const std::vector<std::string> terms = {"king", "-man", "+woman"};
  const auto similar = SimilarWords(unit, terms, {.top = 2});
  ASSERT_TRUE(similar.ok()) << similar.status();
  EXPECT_EQ(unit.vocabulary.word((*similar)[0].id), "queen");
  EXPECT_EQ(similar->size(), 2u);
  const std::vector<std::string> unknown = {"kingg"};
  EXPECT_EQ(Message(SimilarWords(unit, unknown, {}).status()),
            "the word 'kingg' is not in the vocabulary, did you mean king?");
  EXPECT_FALSE(SimilarWords(unit, {}, {}).ok());
}

TEST(AnalogyTest, QuestionsAreScoredBySectionAndUnknownOnesLeftOut) {
  const TempDir dir;
  const auto sections = LoadAnalogies(dir.Write(
      "q",
      ": royal family\nMan King Woman Queen\nman king woman apple\n\n: fruit\nman pear woman "
      "apple\n"));
  ASSERT_TRUE(sections.ok()) << sections.status();
  const AnalogyReport report = ScoreAnalogies(Royals(), *sections, {});
  ASSERT_EQ(report.sections.size(), 2u);
  EXPECT_EQ(report.sections[0].name, "royal family");
  EXPECT_EQ(report.sections[0].correct, 1);
  EXPECT_EQ(report.sections[0].asked, 2);
  EXPECT_EQ(report.sections[1].left_out, 1);
  EXPECT_EQ(report.total.accuracy(), 0.5);
  EXPECT_EQ(ScoreAnalogies(Royals(), *sections, {.words = 3}).total.asked, 0)
      << "queen and apple are not among the first three";
}

TEST(AnalogyTest, TheOriginalsRuleAsksAllQuestions) {
  const TempDir dir;
  const auto sections =
      LoadAnalogies(dir.Write("q", "man king woman queen\nman king pear queen\n"));
  const AnalogyOptions original{.normalize = false, .words = 0, .unknown_word = true};
  EXPECT_EQ(ScoreAnalogies(Royals(), *sections, original).total.asked, 2);
  EXPECT_EQ(ScoreAnalogies(Royals(), *sections, original).total.correct, 1);
  WordVectors without = Royals();
  auto words = without.vocabulary.words();
  words.pop_back();
  without.vocabulary = *Vocabulary::FromWords(words);
  without.values.resize(15);
  const AnalogyReport report = ScoreAnalogies(without, *sections, original);
  EXPECT_EQ(report.total.asked, 2) << "without <UNK> it is answered wrong";
  EXPECT_EQ(report.total.left_out, 0);
}

TEST(AnalogyTest, BadFilesAreErrorsWithTheLine) {
  const TempDir dir;
  const auto error = [&](std::string_view text) {
    return std::string(Message(LoadAnalogies(dir.Write("q", text)).status()));
  };
  EXPECT_THAT(error("a b c d\na b c\n"), HasSubstr("/q:2: expected four words"));
  EXPECT_THAT(error(": only a head\n"), HasSubstr("/q: has no questions"));
}

TEST(WordSimilarityTest, SpearmanCountsRanksWithTies) {
  const std::vector<double> x = {1, 2, 3, 4, 5};
  EXPECT_NEAR(Spearman(x, std::vector<double>{10, 20, 30, 40, 50}), 1, 1e-12);
  EXPECT_NEAR(Spearman(x, std::vector<double>{5, 4, 3, 2, 1}), -1, 1e-12);
  // scipy.stats.spearmanr([1, 2, 3, 4, 5], [5, 6, 7, 8, 7])
  EXPECT_NEAR(Spearman(x, std::vector<double>{5, 6, 7, 8, 7}), 0.8207826816681233, 1e-12);
  EXPECT_TRUE(std::isnan(Spearman(x, std::vector<double>(5, 1.0))));
  EXPECT_TRUE(std::isnan(Spearman({}, {})));
}

TEST(WordSimilarityTest, PairsAreReadAndUnknownOnesLeftOut) {
  const TempDir dir;
  const auto pairs = LoadWordPairs(dir.Write("p",
                                             "# a comment\nMan\tking\t5\nman apple 0\nqueen "
                                             "king 4.5\nman pear 1\n"));
  ASSERT_TRUE(pairs.ok()) << pairs.status();
  const SimilarityReport report = ScoreSimilarity(Royals(), *pairs);
  EXPECT_EQ(report.pairs, 3);
  EXPECT_EQ(report.left_out, 1);
  EXPECT_NEAR(report.spearman, 1, 1e-12);
  EXPECT_THAT(std::string(Message(LoadWordPairs(dir.Write("b", "a b\n")).status())),
              HasSubstr("/b:1: expected two words and a score"));
  EXPECT_THAT(std::string(Message(LoadWordPairs(dir.Write("b", "a b c\n")).status())),
              HasSubstr("/b:1: expected a score, found 'c'"));
}

}  // namespace
}  // namespace flotilla
