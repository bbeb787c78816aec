#include "flotilla/corpus/tokenizer.h"

#include <gtest/gtest.h>

#include <vector>

#include "flotilla/base/utf8.h"

namespace flotilla {
namespace {

// Words, and "\n" for each line end.
std::vector<std::string> Split(TokenizerKind kind, std::string_view text) {
  std::vector<std::string> parts;
  Tokenize(
      kind, text, [&](std::string_view word) { parts.emplace_back(word); },
      [&] { parts.emplace_back("\n"); });
  return parts;
}

using Parts = std::vector<std::string>;

TEST(TokenizerTest, EnglishLowersDeletesAndSplitsOnBlanks) {
  const auto split = [](std::string_view text) { return Split(TokenizerKind::kEnglish, text); };
  EXPECT_EQ(split("the  quick"), (Parts{"the", "quick"}));
  EXPECT_EQ(split("It's NOT 42, Mr. O'Neil!"), (Parts{"its", "not", "mr", "oneil"}));
  EXPECT_EQ(split("tabs\tjoin\r\nlines"), (Parts{"tabsjoin", "\n", "lines"}));
  EXPECT_EQ(split("caf\xc3\xa9 \xff x"), (Parts{"caf", "x"}));
  EXPECT_EQ(split("\n\n"), (Parts{"\n", "\n"}));
  EXPECT_EQ(split(" 123 "), Parts{});
  EXPECT_EQ(split(""), Parts{});
}

TEST(TokenizerTest, WhitespaceKeepsEverythingElse) {
  const auto split = [](std::string_view text) { return Split(TokenizerKind::kWhitespace, text); };
  EXPECT_EQ(split(" Don't\tstop,\r\n\v42\f"), (Parts{"Don't", "stop,", "\n", "42"}));
  EXPECT_EQ(split("\xe4\xbd\xa0\xe5\xa5\xbd caf\xc3\xa9"),
            (Parts{"\xe4\xbd\xa0\xe5\xa5\xbd", "caf\xc3\xa9"}));
  EXPECT_EQ(split(std::string_view("a\0b c", 5)), (Parts{std::string("a\0b", 3), "c"}));
}

TEST(TokenizerTest, InvalidUtf8BecomesReplacementCharacters) {
  const std::string r = "\xef\xbf\xbd";
  EXPECT_EQ(RepairUtf8("ok"), "ok");
  EXPECT_EQ(RepairUtf8("\xff"), r);
  EXPECT_EQ(RepairUtf8("a\xe2\x82z"), "a" + r + "z") << "a cut sequence is one part";
  EXPECT_EQ(RepairUtf8("\xc0\xaf"), r + r) << "overlong";
  EXPECT_EQ(RepairUtf8("\xed\xa0\x80"), r + r + r) << "a surrogate";
  EXPECT_EQ(RepairUtf8("\xf4\x90\x80\x80"), r + r + r + r) << "above U+10FFFF";
  EXPECT_EQ(RepairUtf8("\xf0\x9f\x98"), r);
  EXPECT_EQ(RepairUtf8("\xf0\x9f\x98\x80"), "\xf0\x9f\x98\x80");
  EXPECT_EQ(Split(TokenizerKind::kWhitespace, "x\xff y"), (Parts{"x" + r, "y"}));
}

std::string LossOf(std::string_view text) {
  LetterLoss loss;
  loss.Count(text);
  return loss.Warning();
}

TEST(LetterLossTest, TellsTextsThatTheEnglishTokenizerBreaks) {
  EXPECT_EQ(LossOf(""), "");
  EXPECT_EQ(LossOf("1 2 3 ... \t\n"), "");
  // Symbols are not letters: typographic quotes, a dash, a degree sign.
  EXPECT_EQ(LossOf("\u201cThe cat\u201d \u2013 20\u00b0 \u2013 sat on the mat"), "");
  EXPECT_NE(LossOf("\u6211\u4eec \u7684 caf\u00e9"), "");
  EXPECT_NE(LossOf("\u6211\u4eec"), "");
  const std::string german =
      "die Stra\u00dfe f\u00fchrt \u00fcber die Br\u00fccke und dann weiter bis in das Tal hinab";
  const std::string warning = LossOf(german);
  EXPECT_NE(warning.find("--tokenizer whitespace keeps them"), std::string::npos) << warning;
  EXPECT_NE(warning.find("in 28.6 % of its words"), std::string::npos) << warning;
  std::string english;
  for (int i = 0; i < 30; ++i) english += "plain words ";
  EXPECT_EQ(LossOf(english + "caf\u00e9"), "");
}

}  // namespace
}  // namespace flotilla
