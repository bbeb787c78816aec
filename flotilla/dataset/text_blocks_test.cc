#include "flotilla/dataset/text_blocks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/base/temp_dir_testing.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

std::vector<TextBlock> ReadAll(TextBlocks& blocks) {
  std::vector<TextBlock> all;
  while (true) {
    TextBlock block;
    const StatusOr<bool> any = blocks.Next(&block);
    EXPECT_TRUE(any.ok()) << any.status();
    if (!any.ok() || !*any) return all;
    EXPECT_EQ(block.ordinal, static_cast<int64_t>(all.size()));
    all.push_back(block);
  }
}

std::vector<std::string> Texts(const std::vector<TextBlock>& blocks) {
  std::vector<std::string> texts;
  for (const TextBlock& block : blocks) texts.push_back(block.text);
  return texts;
}

using Strings = std::vector<std::string>;

TEST(TextBlocksTest, BlocksEndBehindLinesAndFiles) {
  const TempDir dir;
  const Strings files = {dir.Write("a", "one two\nthree\nfour five six\nseven"), dir.Write("b", ""),
                         dir.Write("c",
                                   "\xef\xbb\xbf"
                                   "eight\n")};
  TextBlocks blocks(files, {.block_bytes = 16});
  const std::vector<TextBlock> all = ReadAll(blocks);
  EXPECT_EQ(Texts(all), (Strings{"one two\nthree\n", "four five six\n", "seven", "eight\n"}));
  for (const TextBlock& block : all) EXPECT_TRUE(block.ends_line);
  EXPECT_EQ(all.back().file, 2);
  std::vector<int64_t> lines;
  for (const TextBlock& block : all) lines.push_back(block.line);
  EXPECT_EQ(lines, (std::vector<int64_t>{1, 3, 4, 1}));
  EXPECT_EQ(blocks.bytes(), 39);
  blocks.Rewind();
  EXPECT_EQ(Texts(ReadAll(blocks)), Texts(all));
}

TEST(TextBlocksTest, LongLinesAreCutBetweenWords) {
  const TempDir dir;
  TextBlocks blocks({dir.Write("a", "aaa bbb ccc ddd eee\nfff\n")}, {.block_bytes = 10});
  const std::vector<TextBlock> all = ReadAll(blocks);
  EXPECT_EQ(Texts(all), (Strings{"aaa bbb ", "ccc ddd ", "eee\nfff\n"}));
  EXPECT_FALSE(all[0].ends_line);
  EXPECT_FALSE(all[1].ends_line);
  EXPECT_TRUE(all[2].ends_line);
}

TEST(TextBlocksTest, WordsLongerThanABlockStayWholeUpToTheLimit) {
  const TempDir dir;
  const std::string word(50, 'x');
  TextBlocks whole({dir.Write("a", word + " y" + word)}, {.block_bytes = 8, .max_word_bytes = 60});
  EXPECT_EQ(Texts(ReadAll(whole)), (Strings{word + " ", "y" + word}));
  TextBlocks cut({dir.Write("b", word)}, {.block_bytes = 8, .max_word_bytes = 20});
  EXPECT_EQ(Texts(ReadAll(cut)), (Strings{std::string(32, 'x'), std::string(18, 'x')}));
}

TEST(TextBlocksTest, ErrorsNameTheFileAndStay) {
  TextBlocks blocks({"/nonexistent/file"});
  TextBlock block;
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(std::string(Message(blocks.Next(&block).status())), HasSubstr("/nonexistent/file"));
  }
}

}  // namespace
}  // namespace flotilla
