#include "flotilla/dataset/corpus_parser.h"

#include <sstream>

#include "flotilla/base/rng.h"
#include "flotilla/dataset/parser_testing.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;

const std::vector<InputSpec> kWordsInput = {{"words", InputKind::kIds, 1}};

std::unique_ptr<CorpusParser> MakeCorpusParser(const CorpusOptions& options = {}) {
  StatusOr<std::unique_ptr<CorpusParser>> parser = CorpusParser::Make(kWordsInput, options);
  EXPECT_TRUE(parser.ok()) << parser.status();
  return *std::move(parser);
}

TEST(CorpusParserTest, WordsOfALineAreOneBagAndBlankLinesAreNoRows) {
  EXPECT_THAT(
      RowsOf(*MakeCorpusParser(), {"5 3 5", "", " \t ", "18446744073709551615", " 1\t2  3 "}),
      ElementsAre("words=5,3,5", "words=18446744073709551615", "words=1,2,3"));
}

TEST(CorpusParserTest, RandomLinesEqualTheNaiveParse) {
  const RngKey key = RngKey(8).With("rows");
  std::vector<std::string> lines, expected;
  uint64_t draw = 0;
  for (int row = 0; row < 500; ++row) {
    std::string line;
    for (uint64_t i = 1 + key.Below(draw++, 50); i > 0; --i) {
      line += fmt::format("{} ", key.Below(draw, 1u << 30) >> draw % 31);
      ++draw;
    }
    lines.push_back(line);
    std::istringstream in(line);
    std::string word, all = "words=";
    while (in >> word) all += word + ",";
    all.pop_back();
    expected.push_back(all);
  }
  EXPECT_EQ(RowsOf(*MakeCorpusParser(), lines), expected);
}

TEST(CorpusParserTest, BadLineSaysColumnAndExpectationAndLeavesTheBatch) {
  ExpectBadRows(*MakeCorpusParser({.vocabulary = 100}), "99 0",
                {{"1 100", "3: expected an id of at most 99, found '100'"},
                 {"1 2 the", "5: expected an id of at most 99, found 'the'"},
                 {"1 2the", "3: expected an id of at most 99, found '2the'"},
                 {"-1", "1: expected an id of at most 99, found '-1'"},
                 {"1.0", "1: expected an id of at most 99, found '1.0'"},
                 {std::string("1 2\0", 4), "3: expected an id of at most 99, found '2?'"}});
  ExpectBadRows(*MakeCorpusParser(), "1",
                {{"1 18446744073709551616", "3: expected an id of at most 18446744073709551615"}});
}

TEST(CorpusParserTest, MakeRefusesOtherInputs) {
  EXPECT_FALSE(CorpusParser::Make({}).ok());
  EXPECT_FALSE(CorpusParser::Make(std::vector<InputSpec>{{"x", InputKind::kDense, 1}}).ok());
  EXPECT_FALSE(CorpusParser::Make(std::vector<InputSpec>{kWordsInput[0], kWordsInput[0]}).ok());
}

}  // namespace
}  // namespace flotilla
