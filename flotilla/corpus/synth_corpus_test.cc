#include "flotilla/corpus/synth_corpus.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <sstream>

namespace flotilla {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

using Sentences = std::vector<std::vector<std::string>>;

SynthCorpus MakeCorpus(const SynthCorpusOptions& options = {}) {
  const auto corpus = SynthCorpus::Make(options);
  EXPECT_TRUE(corpus.ok()) << corpus.status();
  return *corpus;
}

std::string Text(const SynthCorpus& corpus, uint64_t blocks) {
  std::string text;
  for (uint64_t block = 0; block < blocks; ++block) {
    corpus.Block(block, SynthCorpus::kBlockWords, &text);
  }
  return text;
}

Sentences SentencesOf(const std::string& text) {
  Sentences sentences;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    sentences.emplace_back(std::istream_iterator<std::string>(words),
                           std::istream_iterator<std::string>());
  }
  return sentences;
}

std::map<std::string, int> CountsOf(const Sentences& sentences) {
  std::map<std::string, int> counts;
  for (const auto& sentence : sentences) {
    for (const std::string& word : sentence) ++counts[word];
  }
  return counts;
}

TEST(SynthCorpusTest, BlockHasExactlyTheWordsAskedFor) {
  const SynthCorpus corpus = MakeCorpus();
  std::string whole;
  corpus.Block(3, SynthCorpus::kBlockWords, &whole);
  for (const uint64_t words : {1, 2, 999, 10'000}) {
    std::string text = "before\n";
    corpus.Block(3, words, &text);
    EXPECT_EQ(std::count_if(text.begin(), text.end(), [](char c) { return c == ' ' || c == '\n'; }),
              static_cast<int64_t>(words) + 1);
    EXPECT_EQ(text.back(), '\n');
    // A shorter block is a prefix of the whole block.
    EXPECT_EQ(text.substr(7, text.size() - 8), whole.substr(0, text.size() - 8));
  }
}

TEST(SynthCorpusTest, SeedAndBlockDecideTheText) {
  EXPECT_EQ(Text(MakeCorpus({.seed = 4}), 2), Text(MakeCorpus({.seed = 4}), 2));
  EXPECT_NE(Text(MakeCorpus({.seed = 4}), 1), Text(MakeCorpus({.seed = 5}), 1));
  std::string first, second;
  MakeCorpus().Block(0, 100, &first);
  MakeCorpus().Block(1, 100, &second);
  EXPECT_NE(first, second);
}

TEST(SynthCorpusTest, WordsAreLowerCaseLettersAndAllDifferent) {
  const SynthCorpus corpus = MakeCorpus({.relations = 50, .pairs = 100});
  std::set<std::string> planted;
  for (int r = 0; r < 50; ++r) {
    for (int i = 0; i < 100; ++i) {
      planted.insert(corpus.PlantedWord(r, i, 0));
      planted.insert(corpus.PlantedWord(r, i, 1));
    }
  }
  EXPECT_EQ(planted.size(), 10'000u);
  for (const auto& [word, count] : CountsOf(SentencesOf(Text(corpus, 3)))) {
    EXPECT_EQ(word.find_first_not_of("abcdefghijklmnopqrstuvwxyz"), std::string::npos) << word;
    EXPECT_GE(word.size(), 4u);
  }
}

TEST(SynthCorpusTest, BackgroundFollowsZipfsLaw) {
  const SynthCorpus corpus = MakeCorpus({.vocabulary = 1000, .planted = 0});
  std::vector<int> counts;
  for (const auto& [word, count] : CountsOf(SentencesOf(Text(corpus, 30)))) counts.push_back(count);
  std::sort(counts.rbegin(), counts.rend());
  // Rank 10 against rank 100: the ratio of log(11/10) and log(101/100).
  EXPECT_NEAR(static_cast<double>(counts[9]) / counts[99], 9.58, 1.5);
  EXPECT_NEAR(static_cast<double>(counts[0]) / 300'000, std::log(2) / std::log(1001), 0.01);
}

TEST(SynthCorpusTest, QuestionsAreAllOrderedPairsOfARelation) {
  const SynthCorpus corpus = MakeCorpus({.relations = 2, .pairs = 3});
  std::istringstream lines(corpus.Questions());
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(line, ": relation-1");
  std::getline(lines, line);
  EXPECT_EQ(line, corpus.PlantedWord(0, 0, 0) + " " + corpus.PlantedWord(0, 0, 1) + " " +
                      corpus.PlantedWord(0, 1, 0) + " " + corpus.PlantedWord(0, 1, 1));
  int questions = 1, sections = 1;
  std::set<std::string> seen = {line};
  while (std::getline(lines, line)) {
    if (line.starts_with(": ")) {
      ++sections;
      continue;
    }
    ++questions;
    EXPECT_TRUE(seen.insert(line).second) << line;
  }
  EXPECT_EQ(sections, 2);
  EXPECT_EQ(questions, 12);
  EXPECT_EQ(corpus.QuestionCount(), 12u);
}

// Represents a word by the words within three positions of it, weighted by how much more often they
// occur there than by chance: the matrix that skip-gram factorises.
using Vector = std::map<std::string, double>;

Vector Normalised(Vector v) {
  double sum = 0;
  for (const auto& [word, x] : v) sum += x * x;
  for (auto& [word, x] : v) x /= std::sqrt(sum);
  return v;
}

double Dot(const Vector& a, const Vector& b) {
  double sum = 0;
  for (const auto& [word, x] : a) {
    const auto found = b.find(word);
    if (found != b.end()) sum += x * found->second;
  }
  return sum;
}

std::map<std::string, Vector> PlantedVectors(const Sentences& sentences,
                                             const std::set<std::string>& planted) {
  const std::map<std::string, int> counts = CountsOf(sentences);
  std::map<std::string, Vector> vectors;
  for (const auto& sentence : sentences) {
    for (size_t i = 0; i < sentence.size(); ++i) {
      if (!planted.contains(sentence[i])) continue;
      for (size_t k = i < 3 ? 0 : i - 3; k < std::min(i + 4, sentence.size()); ++k) {
        if (k != i) ++vectors[sentence[i]][sentence[k]];
      }
    }
  }
  double all = 0;
  for (const auto& [word, count] : counts) all += count;
  for (auto& [word, vector] : vectors) {
    double sum = 0;
    for (const auto& [other, x] : vector) sum += x;
    for (auto& [other, x] : vector) x = std::max(0.0, std::log(x / sum / counts.at(other) * all));
    vector = Normalised(vector);
  }
  return vectors;
}

TEST(SynthCorpusTest, CompanyOfTheWordsAnswersTheQuestions) {
  const SynthCorpus corpus = MakeCorpus({.relations = 3, .pairs = 8, .vocabulary = 2000});
  std::set<std::string> planted;
  for (int r = 0; r < 3; ++r) {
    for (int i = 0; i < 8; ++i) {
      planted.insert(corpus.PlantedWord(r, i, 0));
      planted.insert(corpus.PlantedWord(r, i, 1));
    }
  }
  const auto vectors = PlantedVectors(SentencesOf(Text(corpus, 10)), planted);
  ASSERT_EQ(vectors.size(), planted.size());
  int right = 0, all = 0;
  std::istringstream lines(corpus.Questions());
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(":")) continue;
    std::istringstream words(line);
    std::string a, b, c, d;
    words >> a >> b >> c >> d;
    Vector target = vectors.at(b);
    for (const auto& [word, x] : vectors.at(c)) target[word] += x;
    for (const auto& [word, x] : vectors.at(a)) target[word] -= x;
    std::string best;
    double most = -2;
    for (const auto& [word, vector] : vectors) {
      if (word == a || word == b || word == c) continue;
      const double similarity = Dot(vector, target);
      if (similarity > most) {
        most = similarity;
        best = word;
      }
    }
    right += best == d;
    ++all;
  }
  EXPECT_EQ(all, 168);
  EXPECT_GT(right, 160);
}

TEST(SynthCorpusTest, OptionsOutOfRangeAreErrors) {
  auto error_of = [](const SynthCorpusOptions& options) {
    return std::string(Message(SynthCorpus::Make(options).status()));
  };
  EXPECT_THAT(error_of({.relations = 0}), StartsWith("synth corpus: relations 0"));
  EXPECT_THAT(error_of({.pairs = 1}), HasSubstr("pairs 1"));
  EXPECT_THAT(error_of({.vocabulary = 0}), HasSubstr("vocabulary 0"));
  EXPECT_THAT(error_of({.zipf_exponent = 0}), HasSubstr("zipf_exponent 0"));
  EXPECT_THAT(error_of({.planted = 1.5}), HasSubstr("planted 1.5"));
  EXPECT_THAT(error_of({.relations = 1000, .pairs = 1000}), HasSubstr("the most is 1000000"));
}

}  // namespace
}  // namespace flotilla
