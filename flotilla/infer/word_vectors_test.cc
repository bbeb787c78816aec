#include "flotilla/infer/word_vectors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "flotilla/base/temp_dir_testing.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

WordVectors SomeVectors() {
  WordVectors vectors{
      .vocabulary = *Vocabulary::FromWords({{"the", 9}, {"caf\xc3\xa9", 3}, {"7", 1}}), .dim = 2};
  vectors.values = {0.1f, -1.0f / 3, 1e-30f, std::numeric_limits<float>::max(), 0, -0.0f};
  return vectors;
}

TEST(WordVectorsTest, BothFormatsReadBackToTheSameBits) {
  const TempDir dir;
  const WordVectors vectors = SomeVectors();
  for (const VectorFormat format : {VectorFormat::kText, VectorFormat::kBinary}) {
    const std::string path = dir.path() + "/vectors";
    ASSERT_TRUE(SaveVectors(vectors, format, path).ok());
    const auto read = LoadVectors(path);
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->dim, 2);
    ASSERT_EQ(read->values.size(), vectors.values.size());
    EXPECT_EQ(std::memcmp(read->values.data(), vectors.values.data(), 6 * sizeof(float)), 0);
    ASSERT_EQ(read->vocabulary.size(), 3u);
    for (size_t i = 0; i < 3; ++i) EXPECT_EQ(read->vocabulary.word(i), vectors.vocabulary.word(i));
  }
}

TEST(WordVectorsTest, FilesLookAsOtherToolsWantThem) {
  const TempDir dir;
  WordVectors vectors{.vocabulary = *Vocabulary::FromWords({{"a", 1}, {"b", 1}}), .dim = 2};
  vectors.values = {1, 0.5f, -2, 0};
  ASSERT_TRUE(SaveVectors(vectors, VectorFormat::kText, dir.path() + "/t").ok());
  EXPECT_EQ(ContentOf(dir.path() + "/t"), "2 2\na 1 0.5\nb -2 0\n");
  ASSERT_TRUE(SaveVectors(vectors, VectorFormat::kBinary, dir.path() + "/b").ok());
  const std::string bytes(reinterpret_cast<const char*>(vectors.values.data()), 16);
  EXPECT_EQ(ContentOf(dir.path() + "/b"),
            "2 2\na " + bytes.substr(0, 8) + "\nb " + bytes.substr(8) + "\n");
}

TEST(WordVectorsTest, ReadsTheVariantsOfOtherTools) {
  const TempDir dir;
  // The C tool ends lines with a blank; gensim's binary has no line feeds.
  const auto blanks = LoadVectors(dir.Write("blanks", "2 2\na 1 0.5 \nb -2 0 \n"));
  ASSERT_TRUE(blanks.ok()) << blanks.status();
  EXPECT_EQ(blanks->row(1)[0], -2);
  const float row[2] = {3, 4};
  const std::string bytes(reinterpret_cast<const char*>(row), 8);
  const auto binary = LoadVectors(dir.Write("binary", "2 2\na " + bytes + "b " + bytes));
  ASSERT_TRUE(binary.ok()) << binary.status();
  EXPECT_EQ(binary->row(1)[1], 4);
}

TEST(WordVectorsTest, DamagedFilesAreErrorsThatNameThePlace) {
  const TempDir dir;
  const auto error = [&](std::string_view content) {
    const auto read = LoadVectors(dir.Write("v", content));
    EXPECT_FALSE(read.ok());
    return std::string(Message(read.status()));
  };
  EXPECT_THAT(error(""), HasSubstr("/v: line 1: expected `words dim`"));
  EXPECT_THAT(error("hello\n"), HasSubstr("line 1: expected `words dim`, found 'hello'"));
  EXPECT_THAT(error("2 0\n"), HasSubstr("line 1: expected `words dim`"));
  EXPECT_THAT(error("999999999 100\na 1\n"), HasSubstr("more than the file has"));
  EXPECT_THAT(error("2 2\na 1 2\nb 1\n"), HasSubstr("line 3: expected a word and 2 numbers"));
  EXPECT_THAT(error("1 2\na 1 2\nb 1 2\n"), HasSubstr("line 3: more words than line 1 declares"));
  EXPECT_THAT(error("2 2\na 1 2\na 1 2\n"), HasSubstr("duplicate word a"));
  EXPECT_THAT(error("2 2\na " + std::string(8, '\x01') + "b \x01"),
              HasSubstr("the file ends in the middle of word 2 of 2"));
  EXPECT_THAT(std::string(Message(LoadVectors(dir.path() + "/none").status())), HasSubstr("/none"));
}

TEST(WordVectorsTest, ReadsTheFirstWordsAndFilesWithoutAHeader) {
  const TempDir dir;
  const WordVectors vectors = SomeVectors();
  for (const VectorFormat format : {VectorFormat::kText, VectorFormat::kBinary}) {
    const std::string path = dir.path() + "/vectors";
    ASSERT_TRUE(SaveVectors(vectors, format, path).ok());
    const auto two = LoadVectors(path, {.limit = 2});
    ASSERT_TRUE(two.ok()) << two.status();
    EXPECT_EQ(two->vocabulary.size(), 2u);
    EXPECT_EQ(two->row(1)[0], 1e-30f);
    EXPECT_EQ(LoadVectors(path, {.limit = 9})->vocabulary.size(), 3u);
  }
  const std::string glove = dir.Write("glove", "a 1 0.5\nb -2 0\nc 3 4");
  const auto all = LoadVectors(glove, {.header = false});
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->dim, 2);
  EXPECT_EQ(all->vocabulary.word(2), "c");
  EXPECT_EQ(all->row(2)[1], 4);
  EXPECT_EQ(LoadVectors(glove, {.header = false, .limit = 1})->vocabulary.size(), 1u);
  const auto error = [&](std::string_view content) {
    return std::string(Message(LoadVectors(dir.Write("v", content), {.header = false}).status()));
  };
  EXPECT_THAT(error(""), HasSubstr("line 1: expected a word and its numbers"));
  EXPECT_THAT(error("a\n"), HasSubstr("line 1: expected a word and its numbers, found 'a'"));
  EXPECT_THAT(error("a 1 2\nb 1\n"), HasSubstr("line 2: expected a word and 2 numbers"));
  EXPECT_THAT(error("a 1 2 3 4\n\n\n\n\n"), HasSubstr("line 1: has 4 numbers, more than"));
}

TEST(WordVectorsTest, WordsWithBlanksCannotBeSaved) {
  const TempDir dir;
  WordVectors vectors{.vocabulary = *Vocabulary::FromWords({{"new york", 1}}), .dim = 1};
  vectors.values = {1};
  EXPECT_THAT(std::string(Message(SaveVectors(vectors, VectorFormat::kText, dir.path() + "/v"))),
              HasSubstr("the word 'new york' has a blank"));
}

TEST(WordVectorsTest, NormalizedRowsHaveLengthOneAndZerosStay) {
  WordVectors vectors{.vocabulary = *Vocabulary::FromWords({{"a", 1}, {"b", 1}}), .dim = 2};
  vectors.values = {3, 4, 0, 0};
  const WordVectors unit = vectors.Normalized();
  EXPECT_NEAR(unit.row(0)[0], 0.6, 1e-6);
  EXPECT_NEAR(unit.row(0)[1], 0.8, 1e-6);
  EXPECT_EQ(unit.row(1)[0], 0);
}

}  // namespace
}  // namespace flotilla
