#include "flotilla/dataset/libffm_parser.h"

#include <map>
#include <sstream>

#include "flotilla/base/rng.h"
#include "flotilla/dataset/parser_testing.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<InputSpec> kFieldInputs = {{"F0", InputKind::kIds, 1},
                                             {"F2", InputKind::kIds, 1},
                                             {"label", InputKind::kLabel, 1},
                                             {"F1", InputKind::kDense, 1}};

std::unique_ptr<LibffmParser> MakeLibffmParser(const LibffmOptions& options = {},
                                               std::span<const InputSpec> inputs = kFieldInputs) {
  StatusOr<std::unique_ptr<LibffmParser>> parser = LibffmParser::Make(inputs, options);
  EXPECT_TRUE(parser.ok()) << parser.status();
  return *std::move(parser);
}

TEST(LibffmParserTest, FieldsGoToTheInputsOfTheirNumbers) {
  EXPECT_THAT(RowsOf(*MakeLibffmParser(), {"1 0:10:1 1:77:0.25 2:30:1", "0 2:5:1 0:7:1 2:6:1 0:8:0",
                                           "-1", "1 1:5:3 # 2:1:1", "", "#"}),
              ElementsAre("F0=10 F2=30 label=1 F1=0.25", "F0=7 F2=5,6 label=0 F1=0",
                          "F0= F2= label=0 F1=0", "F0= F2= label=1 F1=3"));
}

TEST(LibffmParserTest, ValuesAreTheWeightsOfIds) {
  EXPECT_EQ(RowOf(*MakeLibffmParser(), "1 0:10:0.5 2:30:1 2:31:2 1:7:3"),
            "F0=10:0.5 F2=30:1,31:2 label=1 F1=3");
  EXPECT_EQ(RowOf(*MakeLibffmParser({.single = true}), "1 0:10:0.5 2:30:1"),
            "F0=10:0.5 F2=30 label=1 F1=0");
}

TEST(LibffmParserTest, ListOfFieldsNamesInputsAndLeavesFieldsOut) {
  const std::vector<InputSpec> inputs = {
      {"click", InputKind::kLabel, 1}, {"item", InputKind::kIds, 1}, {"user", InputKind::kIds, 1}};
  const auto parser = MakeLibffmParser({.fields = {"user", "-", "item"}}, inputs);
  EXPECT_EQ(RowOf(*parser, "1 0:10:1 1:20:0.5 2:30:1"), "click=1 item=30 user=10");
  ExpectBadRows(*parser, "1", {{"1 3:1:1", "3: field 3 has no input in the model"}});
}

TEST(LibffmParserTest, SingleFieldsHaveOneIdAndNoOffsets) {
  const auto parser = MakeLibffmParser({.single = true});
  Batch batch = EmptyBatchFor(*parser);
  ASSERT_TRUE(parser->Parse("1 2:30:1 0:10:1", &batch).ok());
  EXPECT_TRUE(batch.fields[0].ids.one_per_row());
  EXPECT_EQ(RowText(kFieldInputs, batch, 0), "F0=10 F2=30 label=1 F1=0");
  ExpectBadRows(*parser, "1 2:30:1 0:10:1",
                {{"1 0:10:1", "9: expected one feature for input F2, the line ends"},
                 {"1 0:10:1 0:11:1 2:3:1", "10: duplicate field 0"}});
}

TEST(LibffmParserTest, RandomRowsEqualTheNaiveParse) {
  const RngKey key = RngKey(7).With("rows");
  std::vector<std::string> lines, expected;
  uint64_t draw = 0;
  for (int row = 0; row < 2000; ++row) {
    std::string line = key.Below(draw++, 2) == 0 ? "0" : "1";
    const uint64_t features = key.Below(draw++, 8);
    for (uint64_t i = 0; i < features; ++i) {
      line += fmt::format(" {}:{}:1", 2 * key.Below(draw, 2), key.Below(draw + 1, 1u << 31));
      draw += 2;
    }
    lines.push_back(line);
    std::istringstream in(line);
    std::string label, word;
    in >> label;
    std::map<char, std::string> ids;
    while (in >> word) {
      std::string& list = ids[word[0]];
      if (!list.empty()) list += ',';
      list += word.substr(2, word.rfind(':') - 2);
    }
    expected.push_back("F0=" + ids['0'] + " F2=" + ids['2'] + " label=" + label + " F1=0");
  }
  EXPECT_EQ(RowsOf(*MakeLibffmParser(), lines), expected);
}

TEST(LibffmParserTest, BadLineSaysColumnAndExpectationAndLeavesTheBatch) {
  ExpectBadRows(*MakeLibffmParser(), "1 0:1:1 1:1:0.5 2:2:1",
                {{"5 0:1:1", "1: label: expected -1, 0 or 1, found '5'"},
                 {"1 0:1", "3: expected <field>:<index>:<number>, found '0:1'"},
                 {"1 0:1:", "3: expected <field>:<index>:<number>, found '0:1:'"},
                 {"1 0:1:1 0", "9: expected <field>:<index>:<number>, found '0'"},
                 {"1 a:1:1", "3: expected <field>:<index>:<number>, found 'a:1:1'"},
                 {"1 0:-1:1", "3: expected <field>:<index>:<number>, found '0:-1:1'"},
                 {"1 0:1:nan", "3: expected <field>:<index>:<number>, found '0:1:nan'"},
                 {"1 0:1:inf", "3: expected <field>:<index>:<number>, found '0:1:inf'"},
                 {"1 0:1:1:1", "3: expected <field>:<index>:<number>, found '0:1:1:1'"},
                 {std::string("1 0:1:1\0", 8), "3: expected <field>:<index>:<number>"},
                 {"1 1:1:1e39", "3: expected <field>:<index>:<number>"},
                 {"1 1:1:1e38",
                  "3: expected <field>:<index>:<number>, found '1:1:1e38' (too large: its square"},
                 {"1 0:18446744073709551616:1", "3: expected <field>:<index>:<number>"},
                 {"1 2:1:1 3:1:1", "9: field 3 has no input in the model"},
                 {"1 99999999999:1:1", "3: field 99999999999 has no input in the model"},
                 {"1 1:1:2 1:1:3", "9: duplicate field 1"}});
}

TEST(LibffmParserTest, MakeRefusesInputsThatAreNoFields) {
  auto error = [](std::vector<InputSpec> inputs, const LibffmOptions& options = {}) {
    return std::string(Message(LibffmParser::Make(inputs, options).status()));
  };
  const InputSpec label = {"label", InputKind::kLabel, 1};
  EXPECT_THAT(error({label}), HasSubstr("no input but the label"));
  EXPECT_THAT(error({{"F0", InputKind::kIds, 1}}), HasSubstr("no label"));
  EXPECT_THAT(error({label, label}), HasSubstr("label is a second label"));
  EXPECT_THAT(error({label, {"user", InputKind::kIds, 1}}), HasSubstr("input user is not a field"));
  EXPECT_THAT(error({label, {"F1x", InputKind::kIds, 1}}), HasSubstr("input F1x is not a field"));
  EXPECT_THAT(error({label, {"F99999999", InputKind::kIds, 1}}), HasSubstr("is not below 65536"));
  EXPECT_THAT(error({label, {"F0", InputKind::kDense, 2}}), HasSubstr("F0 has width 2"));
  EXPECT_THAT(error({label, {"F1", InputKind::kIds, 1}, {"F01", InputKind::kIds, 1}}),
              HasSubstr("field 1 has two inputs, F1 and F01"));
  EXPECT_THAT(error({label, {"a", InputKind::kIds, 1}}, {.fields = {"b"}}),
              HasSubstr("input a is not in the list of fields"));
  EXPECT_THAT(error({label, {"a", InputKind::kIds, 1}}, {.fields = {"a", "b"}}),
              HasSubstr("field 1: b is not an input"));
}

}  // namespace
}  // namespace flotilla
