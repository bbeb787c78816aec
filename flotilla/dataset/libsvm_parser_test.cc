#include "flotilla/dataset/libsvm_parser.h"

#include <sstream>

#include "flotilla/base/rng.h"
#include "flotilla/dataset/parser_testing.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::vector<InputSpec> kIdInputs = {{"label", InputKind::kLabel, 1},
                                          {"features", InputKind::kIds, 1}};
const std::vector<InputSpec> kDenseInputs = {{"x", InputKind::kDense, 4},
                                             {"y", InputKind::kLabel, 1}};

std::unique_ptr<LibsvmParser> MakeLibsvmParser(std::span<const InputSpec> inputs,
                                               const LibsvmOptions& options = {}) {
  StatusOr<std::unique_ptr<LibsvmParser>> parser = LibsvmParser::Make(inputs, options);
  EXPECT_TRUE(parser.ok()) << parser.status();
  return *std::move(parser);
}

TEST(LibsvmParserTest, IndicesBecomeTheIdsOfABag) {
  EXPECT_THAT(RowsOf(*MakeLibsvmParser(kIdInputs),
                     {"-1 3:1 11:1 14:1 ", "+1 5:1.0 7:0 18446744073709551615:1", "0",
                      "1 2:1 # a comment 3:1"}),
              ElementsAre("label=0 features=3,11,14", "label=1 features=5,18446744073709551615",
                          "label=0 features=", "label=1 features=2"));
}

TEST(LibsvmParserTest, ValuesBecomeTheElementsOfADenseInput) {
  EXPECT_THAT(RowsOf(*MakeLibsvmParser(kDenseInputs), {"1 1:0.5 4:-2", "0 3:1e-3 2:7", "-1"}),
              ElementsAre("x=0.5,0,0,-2 y=1", "x=0,7,0.00100000005,0 y=0", "x=0,0,0,0 y=0"));
  EXPECT_EQ(RowOf(*MakeLibsvmParser(kDenseInputs, {.first_index = 0}), "1 0:5 3:6"),
            "x=5,0,0,6 y=1");
}

TEST(LibsvmParserTest, BothInputsAreFilledWhenTheModelHasBoth) {
  const std::vector<InputSpec> both = {kDenseInputs[0], kDenseInputs[1], kIdInputs[1]};
  EXPECT_EQ(RowOf(*MakeLibsvmParser(both), "1 2:1 4:1"), "x=0,1,0,1 y=1 features=2,4");
}

TEST(LibsvmParserTest, ValuesAreTheWeightsOfIds) {
  EXPECT_THAT(RowsOf(*MakeLibsvmParser(kIdInputs), {"1 3:1", "-1 5:0.25 7:1", "1", "1 2:-3"}),
              ElementsAre("label=1 features=3:1", "label=0 features=5:0.25,7:1",
                          "label=1 features=", "label=1 features=2:-3"));
}

TEST(LibsvmParserTest, ABadRowTakesItsWeightsBack) {
  const auto parser = MakeLibsvmParser(kIdInputs);
  Batch batch{.fields = std::vector<Field>(2)};
  ASSERT_TRUE(parser->Parse("1 3:0.5", &batch).ok());
  EXPECT_FALSE(parser->Parse("1 4:2 5:2 x", &batch).ok());
  EXPECT_THAT(batch.fields[1].ids.weights, ElementsAre(0.5f));
  EXPECT_TRUE(batch.Check(kIdInputs).ok());
}

TEST(LibsvmParserTest, AGroupIsOneIdOfEveryRow) {
  const std::vector<InputSpec> inputs = {kIdInputs[0], kIdInputs[1], {"user", InputKind::kIds, 1}};
  const auto parser = MakeLibsvmParser(inputs, {.group = "user"});
  EXPECT_THAT(
      RowsOf(*parser, {"1 qid:7 2:1", "0 qid:18446744073709551615"}),
      ElementsAre("label=1 features=2 user=7", "label=0 features= user=18446744073709551615"));
  ExpectBadRows(*parser, "1 qid:1 2:1",
                {{"1 2:1", "3: expected qid:<number>, found '2:1'"},
                 {"1 qid:x 2:1", "3: expected qid:<number>, found 'qid:x'"},
                 {"1 qid:1 2:1 qid:1", "13: expected <index>:<number>, found 'qid:1'"}});
  EXPECT_THAT(std::string(Message(LibsvmParser::Make(kIdInputs, {.group = "user"}).status())),
              HasSubstr("the model has no id input user"));
}

TEST(LibsvmParserTest, LabelsMayBeAnyNumber) {
  const auto parser = MakeLibsvmParser(kIdInputs, {.labels = LabelRule::kNumber});
  EXPECT_EQ(RowOf(*parser, "-2.5 1:1"), "label=-2.5 features=1");
  ExpectBadRows(*parser, "1 2:1",
                {{"x 1:1", "1: label: expected a number, found 'x'"},
                 {"nan 1:1", "1: label: expected a number, found 'nan'"},
                 {"1e30 1:1", "1: label: expected a number, found '1e30'"}});
}

TEST(LibsvmParserTest, WholeLabelsStayAsTheyAre) {
  const auto parser = MakeLibsvmParser(kIdInputs, {.labels = LabelRule::kWhole});
  EXPECT_THAT(RowsOf(*parser, {"7 1:1", "-3 1:1", "16777216 1:1", "2.0"}),
              ElementsAre("label=7 features=1", "label=-3 features=1", "label=16777216 features=1",
                          "label=2 features="));
  ExpectBadRows(*parser, "1 2:1",
                {{"0.5 1:1", "1: label: expected a whole number of at most 16777216, found '0.5'"},
                 {"16777217 1:1", "1: label: expected a whole number of at most 16777216"},
                 {"16777218 1:1", "1: label: expected a whole number of at most 16777216"}});
}

TEST(LibsvmParserTest, ListedLabelsAreClassesInTheirOrder) {
  const auto parser = MakeLibsvmParser(kIdInputs, {.labels = *LabelRule::FromText("2,1,-0.5")});
  EXPECT_THAT(RowsOf(*parser, {"1 1:1", "2.0 1:1", "-.5"}),
              ElementsAre("label=1 features=1", "label=0 features=1", "label=2 features="));
  ExpectBadRows(*parser, "1 2:1",
                {{"3 1:1", "1: label: expected one of 2,1,-0.5, found '3'"},
                 {"0 1:1", "1: label: expected one of 2,1,-0.5, found '0'"},
                 {"1x 1:1", "1: label: expected one of 2,1,-0.5, found '1x'"}});
  EXPECT_THAT(parser->identity(), HasSubstr("labels=2,1,-0.5 "));
  EXPECT_THAT(LabelRule::FromText("2,1,-0.5")->ClassNames(), ElementsAre("2", "1", "-0.5"));
  for (const char* const text : {"", "1", "1,", "1,1.0", "1;2", "1,x", "1, 2", "nan,1"}) {
    EXPECT_THAT(std::string(Message(LabelRule::FromText(text).status())),
                HasSubstr("is not one of binary, whole, number, or two or more different numbers"))
        << text;
  }
}

TEST(LibsvmParserTest, FeaturesByPositionAreTheIdsOfTheirInputs) {
  const std::vector<InputSpec> inputs = {{"F1", InputKind::kIds, 1},
                                         {"label", InputKind::kLabel, 1},
                                         {"F0", InputKind::kIds, 1},
                                         {"user", InputKind::kIds, 1}};
  const auto parser = MakeLibsvmParser(inputs, {.group = "user", .positions = 2});
  EXPECT_THAT(RowsOf(*parser, {"1 qid:3 7:1 5:1", "0 qid:4 9:0.5 2:0 8:1 # x"}),
              ElementsAre("F1=5 label=1 F0=7:1 user=3", "F1=8 label=0 F0=9:0.5 user=4"));
  const std::string same = "features, as in every row of training, found ";
  ExpectBadRows(*parser, "1 qid:3 7:1 5:1",
                {{"1 qid:1 7:1", "12: expected 2 " + same + "1"},
                 {"1 qid:1 7:1 8:1 9:1 10:1", "25: expected 2 " + same + "4"},
                 {"1 qid:1 7:1 8:0", "16: expected 2 " + same + "1"},
                 {"1 qid:1", "8: expected 2 " + same + "0"}});
  EXPECT_NE(parser->identity(), MakeLibsvmParser(kIdInputs)->identity());
  const auto error = [](std::vector<InputSpec> given) {
    return std::string(Message(LibsvmParser::Make(given, {.positions = 2}).status()));
  };
  EXPECT_EQ(error({inputs[0], inputs[1]}), "libsvm: positions: the model has no id input F0");
  EXPECT_EQ(error(inputs), "libsvm: input user is not one of label, F0 .. F1");
  EXPECT_EQ(error({inputs[0], inputs[2]}),
            "libsvm: the model must have a label and an id or a dense input");
}

TEST(LibsvmParserTest, BlankLinesAndCommentsAreNoRows) {
  EXPECT_THAT(RowsOf(*MakeLibsvmParser(kIdInputs), {"", "  \t", "# 1 2:1", "1 5:1"}),
              ElementsAre("label=1 features=5"));
}

TEST(LibsvmParserTest, RandomRowsEqualTheNaiveParse) {
  const RngKey key = RngKey(6).With("rows");
  std::vector<std::string> lines, expected;
  uint64_t draw = 0;
  for (int row = 0; row < 2000; ++row) {
    std::string line = key.Below(draw++, 2) == 0 ? "-1" : "+1";
    for (int i = 1; i <= 4; ++i) {
      if (key.Below(draw++, 3) == 0) continue;
      line += fmt::format(" {}:{:.{}g}", i, key.Below(draw, 1 << 30) / 3e7, 1 + draw % 16);
      ++draw;
    }
    lines.push_back(line);
    std::istringstream in(line);
    int label = 0;
    in >> label;
    std::vector<float> x(4);
    std::string pair;
    while (in >> pair) x[pair[0] - '1'] = static_cast<float>(std::stod(pair.substr(2)));
    expected.push_back(fmt::format("x={:.9g} y={}", fmt::join(x, ","), label > 0 ? 1 : 0));
  }
  EXPECT_EQ(RowsOf(*MakeLibsvmParser(kDenseInputs), lines), expected);
}

TEST(LibsvmParserTest, BadLineSaysColumnAndExpectationAndLeavesTheBatch) {
  ExpectBadRows(
      *MakeLibsvmParser(kIdInputs), "1 2:1 5:1",
      {{"2 1:1", "1: label: expected -1, 0 or 1, found '2'"},
       {" x 1:1", "2: label: expected -1, 0 or 1, found 'x'"},
       {"nan 1:1", "1: label: expected -1, 0 or 1, found 'nan'"},
       {"1:1", "1: label: expected -1, 0 or 1, found '1:1'"},
       {"1 2", "3: expected <index>:<number>, found '2'"},
       {"1 2:", "3: expected <index>:<number>, found '2:'"},
       {"1 2:1 x:1", "7: expected <index>:<number>, found 'x:1'"},
       {"1 2:1 qid:3", "7: expected <index>:<number>, found 'qid:3'"},
       {"1 qid:3 2:1", "3: expected <index>:<number>, found 'qid:3': the format parameter group"},
       {"1 -2:1", "3: expected <index>:<number>, found '-2:1'"},
       {"1 2:inf", "3: expected <index>:<number>, found '2:inf'"},
       {"1 2:nan", "3: expected <index>:<number>, found '2:nan'"},
       {"1 2:1e999", "3: expected <index>:<number>, found '2:1e999'"},
       {"1 2:1,3:1", "3: expected <index>:<number>, found '2:1,3:1'"},
       {std::string("1 2:1\0 3:1", 10), "3: expected <index>:<number>, found '2:1?'"},
       {"1 18446744073709551616:1", "3: expected <index>:<number>"}});
  ExpectBadRows(*MakeLibsvmParser(kDenseInputs), "1 2:0.5",
                {{"1 0:1", "3: expected an index from 1 to 4, found 0"},
                 {"1 1:7 5:1", "7: expected an index from 1 to 4, found 5"},
                 {"1 18446744073709551615:1", "3: expected an index from 1 to 4"},
                 {"1 2:1 2:1", "7: duplicate feature 2"}});
}

TEST(LibsvmParserTest, MakeRefusesOtherInputs) {
  auto error = [](const std::vector<InputSpec>& inputs) {
    return std::string(Message(LibsvmParser::Make(inputs).status()));
  };
  EXPECT_THAT(error({kIdInputs[0]}), HasSubstr("a label and an id or a dense input"));
  EXPECT_THAT(error({kIdInputs[1]}), HasSubstr("a label and an id or a dense input"));
  EXPECT_THAT(error({kIdInputs[0], kIdInputs[1], {"more", InputKind::kIds, 1}}),
              HasSubstr("features and more are of one kind"));
}

}  // namespace
}  // namespace flotilla
