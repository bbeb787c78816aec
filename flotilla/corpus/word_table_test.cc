#include "flotilla/corpus/word_table.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "flotilla/base/rng.h"

namespace flotilla {
namespace {

TEST(WordTableTest, CountsLikeAMap) {
  WordTable table;
  std::map<std::string, uint64_t> expected;
  const RngKey key(5);
  for (uint64_t i = 0; i < 100000; ++i) {
    // Few letters and all lengths: words that share prefixes, suffixes and both.
    std::string word(1 + key.Below(3 * i, 20), 'a');
    for (size_t c = 0; c < 3; ++c) {
      const uint64_t bits = key.Bits(3 * i + c) >> 8;
      word[bits % word.size()] = static_cast<char>('a' + (bits >> 20) % 3);
    }
    ++table[word];
    ++expected[word];
  }
  EXPECT_GT(expected.size(), 5000u) << "the table must have grown";
  EXPECT_EQ(table.size(), expected.size());
  std::map<std::string, uint64_t> found;
  table.ForEach([&](std::string_view word, uint64_t /*hash*/, uint64_t count) {
    found[std::string(word)] = count;
  });
  EXPECT_EQ(found, expected);
  for (const auto& [word, count] : expected) {
    ASSERT_NE(table.Find(word), nullptr);
    EXPECT_EQ(*table.Find(word), count);
  }
  EXPECT_EQ(table.Find("zz"), nullptr);
}

TEST(WordTableTest, WordsOfZerosAreToldApartByLength) {
  WordTable table;
  for (size_t n = 1; n <= 20; ++n) table[std::string(n, '\0')] = n;
  EXPECT_EQ(table.size(), 20u);
  for (size_t n = 1; n <= 20; ++n) EXPECT_EQ(*table.Find(std::string(n, '\0')), n);
}

}  // namespace
}  // namespace flotilla
