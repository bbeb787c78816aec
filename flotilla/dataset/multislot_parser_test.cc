#include "flotilla/dataset/multislot_parser.h"

#include <sstream>

#include "flotilla/base/rng.h"
#include "flotilla/dataset/parser_testing.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<InputSpec> kSlotInputs = {{"dense", InputKind::kDense, 3},
                                            {"words", InputKind::kIds, 1},
                                            {"user", InputKind::kIds, 1},
                                            {"label", InputKind::kLabel, 1}};

std::unique_ptr<MultislotParser> MakeMultislotParser(const MultislotOptions& options = {
                                                         .single_id_slots = {"user"}}) {
  StatusOr<std::unique_ptr<MultislotParser>> parser = MultislotParser::Make(kSlotInputs, options);
  EXPECT_TRUE(parser.ok()) << parser.status();
  return *std::move(parser);
}

// The row as parsed by a naive reference implementation, in the form of RowText.
std::string NaiveRowText(const std::string& line) {
  std::istringstream in(line);
  std::string row;
  for (const InputSpec& input : kSlotInputs) {
    row += (row.empty() ? "" : " ") + input.name + "=";
    size_t count = 0;
    in >> count;
    for (size_t i = 0; i < count; ++i) {
      std::string word;
      in >> word;
      row += i == 0 ? "" : ",";
      row += input.kind == InputKind::kIds
                 ? std::to_string(std::stoull(word))
                 : fmt::format("{:.9g}", static_cast<float>(std::stod(word)));
    }
  }
  return row;
}

TEST(MultislotParserTest, SlotsGoToTheInputsInTheirOrder) {
  EXPECT_THAT(RowsOf(*MakeMultislotParser(),
                     {"3 0.5 -1 2e3 2 7 8 1 9 1 1", "3 0 0 0 0 1 18446744073709551615 1 0"}),
              ElementsAre("dense=0.5,-1,2000 words=7,8 user=9 label=1",
                          "dense=0,0,0 words= user=18446744073709551615 label=0"));
}

TEST(MultislotParserTest, RandomRowsEqualTheNaiveParse) {
  const RngKey key = RngKey(5).With("rows");
  std::vector<std::string> lines, expected;
  uint64_t draw = 0;
  for (int row = 0; row < 2000; ++row) {
    std::string line = "3";
    for (int i = 0; i < 3; ++i) {
      const double number = (static_cast<double>(key.Below(draw++, 1 << 20)) - 1000) / 777;
      line += fmt::format(" {:.{}g}", number, 1 + key.Below(draw++, 17));
    }
    const uint64_t words = key.Below(draw++, 6);
    line += fmt::format(" {}", words);
    for (uint64_t i = 0; i <= words; ++i) {
      if (i == words) line += " 1";  // the count of the next slot
      line += fmt::format(" {}", key.Below(draw, ~uint64_t{0}) >> key.Below(draw + 1, 64));
      draw += 2;
    }
    line += fmt::format(" 1 {}", key.Below(draw++, 3));
    lines.push_back(line);
    expected.push_back(NaiveRowText(line));
  }
  EXPECT_EQ(RowsOf(*MakeMultislotParser(), lines), expected);
}

TEST(MultislotParserTest, SingleSlotsHaveNoOffsetsAndBagsAlwaysDo) {
  Batch batch = EmptyBatchFor(*MakeMultislotParser());
  ASSERT_TRUE(MakeMultislotParser()->Parse("3 1 2 3 1 7 1 9 1 1", &batch).ok());
  EXPECT_FALSE(batch.fields[1].ids.one_per_row());
  EXPECT_TRUE(batch.fields[2].ids.one_per_row());
  Batch all = EmptyBatchFor(*MakeMultislotParser());
  ASSERT_TRUE(MakeMultislotParser({.all_single = true})->Parse("3 1 2 3 1 7 1 9 1 1", &all).ok());
  EXPECT_TRUE(all.fields[1].ids.one_per_row());
}

TEST(MultislotParserTest, BlanksMayBeManyAndTabsAndAtBothEnds) {
  EXPECT_EQ(RowOf(*MakeMultislotParser(), "  3\t1 2  3 1 \t7 1 9 1 1 \t"),
            "dense=1,2,3 words=7 user=9 label=1");
}

TEST(MultislotParserTest, BadLineSaysColumnAndExpectationAndLeavesTheBatch) {
  const std::string zero(1, '\0');
  ExpectBadRows(
      *MakeMultislotParser(), "3 1 2 3 2 7 8 1 9 1 1",
      {{"", "1: slot dense: expected the number of values, 3, the line ends"},
       {"   ", "4: slot dense: expected the number of values, 3, the line ends"},
       {"2 1 2 0 1 9 1 1", "1: slot dense: expected the number of values, 3, found '2'"},
       {"x", "1: slot dense: expected the number of values, 3, found 'x'"},
       {"3 1 2", "6: slot dense: expected value 3 of 3, a finite number, the line ends"},
       {"3 1 x 3", "5: slot dense: expected value 2 of 3, a finite number, found 'x'"},
       {"3 1 2x 3", "5: slot dense: expected value 2 of 3, a finite number, found '2x'"},
       {"3 1 nan 3 0 1 9 1 1",
        "5: slot dense: expected value 2 of 3, a finite number, found 'nan'"},
       {"3 1 inf 3 0 1 9 1 1",
        "5: slot dense: expected value 2 of 3, a finite number, found 'inf'"},
       {"3 1 -inf 3", "5: slot dense: expected value 2 of 3, a finite number, found '-inf'"},
       {"3 1 1e39 3 0 1 9 1 1", "5: slot dense: expected value 2 of 3, a finite number"},
       {"3 1 1e38 3 0 1 9 1 1",
        "5: slot dense: expected value 2 of 3, a finite number, found '1e38' (too large: its "
        "square "
        "must fit float32, so 1.8e19 is the limit)"},
       {"3 1 1e999 3 0 1 9 1 1", "5: slot dense: expected value 2 of 3, a finite number"},
       {"3 1 2 3" + zero + " 0 1 9 1 1",
        "7: slot dense: expected value 3 of 3, a finite number, "
        "found '3?'"},
       {"3 1 2 3", "8: slot words: expected the number of values, the line ends"},
       {"3 1 2 3 -1", "9: slot words: expected the number of values, found '-1'"},
       {"3 1 2 3 2 7",
        "12: slot words: expected value 2 of 2, a whole number below 2^64, the line "
        "ends"},
       {"3 1 2 3 2 7 -8 1 9 1 1",
        "13: slot words: expected value 2 of 2, a whole number below "
        "2^64, found '-8'"},
       {"3 1 2 3 1 1.5 1 9 1 1", "11: slot words: expected value 1 of 1, a whole number"},
       {"3 1 2 3 1 18446744073709551616 1 9 1 1", "11: slot words: expected value 1 of 1"},
       {"3 1 2 3 18446744073709551615 7",
        "31: slot words: expected value 2 of "
        "18446744073709551615"},
       {"3 1 2 3 0 2 9 9 1 1", "11: slot user: expected the number of values, 1, found '2'"},
       {"3 1 2 3 0 0 1 1", "11: slot user: expected the number of values, 1, found '0'"},
       {"3 1 2 3 0 1 9 2 1 1", "15: slot label: expected the number of values, 1, found '2'"},
       {"3 1 2 3 0 1 9 1 0.5",
        "17: slot label: expected a whole number of at most 16777216, found "
        "'0.5'"},
       {"3 1 2 3 0 1 9 1 16777217", "17: slot label: expected a whole number of at most 16777216"},
       {"3 1 2 3 0 1 9 1 -1", "17: slot label: expected a whole number"},
       {"3 1 2 3 0 1 9 1",
        "16: slot label: expected a whole number of at most 16777216, the line "
        "ends"},
       {"3 1 2 3 0 1 9 1 1 5", "19: expected the end of the line after 4 slots, found '5'"},
       {"3 1 2 3 0 1 9 1 1\r",
        "17: slot label: expected a whole number of at most 16777216, found "
        "'1?'"}});
}

TEST(MultislotParserTest, MakeRefusesOptionsThatDoNotFit) {
  auto error = [](const MultislotOptions& options) {
    return std::string(Message(MultislotParser::Make(kSlotInputs, options).status()));
  };
  EXPECT_THAT(error({.single_id_slots = {"none"}}), HasSubstr("none is not an id input"));
  EXPECT_THAT(error({.single_id_slots = {"dense"}}), HasSubstr("dense is not an id input"));
  EXPECT_FALSE(MultislotParser::Make({}, {}).ok());
}

TEST(MultislotParserTest, IdentityTellsWhichSlotsAreSingle) {
  EXPECT_EQ(MakeMultislotParser()->identity(), "multislot/1 single=0010");
  EXPECT_EQ(MakeMultislotParser({.all_single = true})->identity(), "multislot/1 single=0110");
}

}  // namespace
}  // namespace flotilla
