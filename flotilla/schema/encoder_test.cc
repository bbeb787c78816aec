#include "flotilla/schema/encoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "flotilla/schema/schema_testing.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class EncoderTest : public ::testing::Test {
 protected:
  void Use(const FittedSchema& fitted, std::vector<InputSpec> inputs = {}) {
    if (inputs.empty()) inputs = fitted.schema().Inputs();
    StatusOr<std::unique_ptr<Encoder>> encoder = Encoder::Make(fitted, inputs);
    ASSERT_TRUE(encoder.ok()) << encoder.status();
    encoder_ = *std::move(encoder);
    batch_ = {};
    batch_.fields.resize(inputs.size());
  }
  void UseWords(std::string_view words) {
    const Schema schema = SchemaOf(words);
    Use(Fitted(schema, EmptyStatistics(schema)));
  }
  // "" or the error.
  std::string Add(const std::vector<std::string_view>& cells) {
    const Status status = encoder_->Encode(cells, &batch_, &place_);
    EXPECT_TRUE(batch_.Check(encoder_->inputs()).ok()) << batch_.Check(encoder_->inputs());
    return std::string(Message(status));
  }
  const std::vector<uint64_t>& ids(size_t field) { return batch_.fields[field].ids.ids; }

  std::unique_ptr<Encoder> encoder_;
  Batch batch_;
  CellPlace place_;
};

TEST_F(EncoderTest, VocabularyHasIdsForMissingOtherAndItsValues) {
  const Schema schema = SchemaOf("missing=? a:category b:category");
  Statistics statistics = EmptyStatistics(schema);
  statistics.vocabularies[0].keys = KeysOf("a", {"x", "5"});
  statistics.vocabularies[1].keys = KeysOf("b", {"x"});
  Use(Fitted(schema, statistics));
  for (const char* text : {"x", "5", "5.0", "never", "", "?", "NaN", "None"}) {
    EXPECT_EQ(Add({text, text}), "");
  }
  EXPECT_THAT(ids(0), ElementsAre(2, 3, 3, 1, 0, 0, 0, 0));
  EXPECT_THAT(ids(1), ElementsAre(6, 5, 5, 5, 4, 4, 4, 4));
}

TEST_F(EncoderTest, CodesThatAreGivenStandForTheTexts) {
  const Schema schema = SchemaOf(
      "missing=? a:category b:category(hash) c:category(hash_dim=50) d:id cross:cross(a,b,hash)");
  Statistics statistics = EmptyStatistics(schema);
  statistics.vocabularies[0].keys = KeysOf("a", {"x", "5"});
  Use(Fitted(schema, statistics));
  const std::vector<std::string_view> texts = {"x", "5.0", "other", "", "?", "NaN"};
  for (const std::string_view text : texts) ASSERT_EQ(Add({text, text, text, text}), "");
  const Batch expected = std::exchange(batch_, {.fields = std::vector<Field>(5)});
  for (const std::string_view text : texts) {
    std::vector<uint64_t> codes;
    for (int source = 0; source < 4; ++source) {
      ASSERT_TRUE(encoder_->takes_code(source));
      codes.push_back(encoder_->CodeOf(source, text));
    }
    // Every second one is given, then all of them.
    for (const bool all : {false, true}) {
      const std::vector<const uint64_t*> given = {&codes[0], all ? &codes[1] : nullptr, &codes[2],
                                                  all ? &codes[3] : nullptr};
      const std::vector<std::string_view> cells = {"unread", all ? "unread" : text, "unread",
                                                   all ? "unread" : text};
      ASSERT_TRUE(encoder_->Encode(cells, given, &batch_, &place_).ok());
    }
  }
  for (size_t field = 0; field < 5; ++field) {
    const std::vector<uint64_t>& once = expected.fields[field].ids.ids;
    for (size_t row = 0; row < texts.size(); ++row) {
      EXPECT_EQ(ids(field)[2 * row], once[row]) << field << " " << texts[row];
      EXPECT_EQ(ids(field)[2 * row + 1], once[row]) << field << " " << texts[row];
    }
  }
}

TEST_F(EncoderTest, CodesAreTakenForCategoriesThatAreReadOnce) {
  UseWords(
      "a:category n:number b:bucket t:time(hour) s:list two:category+bucket - "
      "click:label");
  std::vector<int> takes;
  for (int source = 0; source < encoder_->schema().SourceCount(); ++source) {
    if (encoder_->takes_code(source)) takes.push_back(source);
  }
  EXPECT_THAT(takes, ElementsAre(0));
}

TEST_F(EncoderTest, LargeVocabularyFindsEveryValue) {
  const Schema schema = SchemaOf("a:category");
  Statistics statistics = EmptyStatistics(schema);
  std::vector<std::string> texts;
  for (int i = 0; i < 5000; ++i) texts.push_back(std::to_string(i));
  statistics.vocabularies[0].keys = KeysOf("a", texts);
  Use(Fitted(schema, statistics));
  for (const std::string& text : texts) EXPECT_EQ(Add({text}), "");
  for (size_t i = 0; i < texts.size(); ++i) ASSERT_EQ(ids(0)[i], i + 2);
}

TEST_F(EncoderTest, HashesAreSixtyFourBitsSeededWithTheVocabulary) {
  UseWords("a:category(hash) b:category(hash,vocabulary=a) c:category(hash_dim=10)");
  EXPECT_EQ(Add({"x", "x", "x"}), "");
  EXPECT_EQ(Add({"", "7.0", ""}), "");
  EXPECT_THAT(ids(0), ElementsAre(HashBytes("x", HashBytes("a")), HashBytes("", HashBytes("a"))));
  EXPECT_THAT(ids(1), ElementsAre(ids(0)[0], HashBytes("7", HashBytes("a"))));
  EXPECT_THAT(ids(2), ElementsAre(1 + HashBytes("x", HashBytes("c")) % 10, 0));
}

TEST_F(EncoderTest, VocabularyThatCouldNotBeCountedIsHashed) {
  const Schema schema = SchemaOf("a:category");
  Statistics statistics = EmptyStatistics(schema);
  statistics.vocabularies[0].hashed = true;
  Use(Fitted(schema, statistics));
  EXPECT_EQ(Add({"x"}), "");
  EXPECT_THAT(ids(0), ElementsAre(HashBytes("x", HashBytes("a"))));
}

TEST_F(EncoderTest, NumbersAreScaledByWhatTheStatisticsSay) {
  const Schema schema = SchemaOf(
      "a:number b:number(log) c:number(min=10,max=20) d:number(minmax) e:number(standardise) "
      "f:number(log,standardise)");
  Statistics statistics = EmptyStatistics(schema);
  statistics.numbers[3] = {.min = -1, .max = 3};
  statistics.numbers[4] = {.mean = 5, .deviation = 2};
  statistics.numbers[5] = {.mean = 1, .deviation = 0};
  Use(Fitted(schema, statistics));
  EXPECT_EQ(Add({"-2.5", "7", "15", "1", "9", "0"}), "");
  EXPECT_EQ(Add({"", "nan", "", "None", "", ""}), "");
  const auto log8 = static_cast<float>(std::log1p(7.0));
  EXPECT_THAT(batch_.fields[0].values,
              ElementsAre(-2.5f, log8, 0.5f, 0.5f, 2.f, -1.f, 0, 0, 0, 0, 0, 0));
}

TEST_F(EncoderTest, NumbersMayHaveADecimalComma) {
  UseWords("delimiter=semicolon decimal=comma a:number b:bucket(borders=0|10)");
  EXPECT_EQ(Add({"12,50", "12,50"}), "");
  EXPECT_EQ(Add({"1.5", "-0,5"}), "");
  EXPECT_THAT(batch_.fields[0].values, ElementsAre(12.5f, 1.5f));
  EXPECT_THAT(ids(1), ElementsAre(3, 1));
  EXPECT_THAT(Add({"1,2,3", "1"}), HasSubstr("column a: expected a number, found '1,2,3'"));
  UseWords("a:number");
  EXPECT_THAT(Add({"12,50"}), HasSubstr("expected a number"));
}

TEST_F(EncoderTest, BucketsByBordersQuantilesAndLogarithms) {
  const Schema schema = SchemaOf("a:bucket(borders=0|10) b:bucket(quantiles=2) c:bucket(hash)");
  Statistics statistics = EmptyStatistics(schema);
  statistics.numbers[1].borders = {5};
  Use(Fitted(schema, statistics));
  for (const char* text : {"-1", "0", "9.5", "10", "", "1", "3", "4"}) {
    EXPECT_EQ(Add({text, text, text}), "");
  }
  EXPECT_THAT(ids(0), ElementsAre(1, 2, 2, 3, 0, 2, 2, 2));
  EXPECT_THAT(ids(1), ElementsAre(5, 5, 6, 6, 4, 5, 5, 5));
  // ln(3)^2 and ln(4)^2 are between 1 and 2, but 1 is a bucket of its own.
  EXPECT_EQ(ids(2)[6], ids(2)[7]);
  EXPECT_NE(ids(2)[5], ids(2)[6]);
  EXPECT_THAT(Add({"x", "1", "1"}), HasSubstr("column a: expected a number, found 'x'"));
}

TEST_F(EncoderTest, TimesGiveHourAndWeekday) {
  UseWords("t:time(yymmddhh)");
  EXPECT_EQ(Add({"14102103"}), "");
  EXPECT_EQ(Add({""}), "");
  EXPECT_THAT(ids(0), ElementsAre(1 + 3, 0));
  EXPECT_THAT(ids(1), ElementsAre(25 + 1 + 1, 25));
  EXPECT_EQ(Add({"x"}), "column t: expected a time as YYMMDDHH, found 'x'");
}

TEST_F(EncoderTest, CrossDependsOnEveryMemberAndItsPlace) {
  UseWords("a:category(hash) b:category(hash,vocabulary=a) x:cross(a,b,hash)");
  for (const auto& [a, b] : std::vector<std::pair<std::string_view, std::string_view>>{
           {"u", "v"}, {"v", "u"}, {"u", "v"}, {"u", ""}, {"", ""}}) {
    EXPECT_EQ(Add({a, b}), "");
  }
  const std::vector<uint64_t>& x = ids(2);
  EXPECT_EQ(x[0], x[2]);
  EXPECT_NE(x[0], x[1]);
  EXPECT_NE(x[0], x[3]);
  EXPECT_NE(x[3], x[4]);
}

TEST_F(EncoderTest, ListsHaveWeights) {
  const Schema schema = SchemaOf("tags:list(weighted) plain:list(separator=space)");
  Statistics statistics = EmptyStatistics(schema);
  statistics.vocabularies[0].keys = KeysOf("tags", {"a", "b:c"});
  statistics.vocabularies[1].keys = KeysOf("plain", {"a"});
  Use(Fitted(schema, statistics));
  EXPECT_EQ(Add({"a:0.5|b:c:-2|a", "a b a"}), "");
  EXPECT_EQ(Add({"", "NaN"}), "");
  EXPECT_THAT(ids(0), ElementsAre(2, 3, 2));
  EXPECT_THAT(batch_.fields[0].ids.weights, ElementsAre(0.5f, -2.f, 1.f));
  EXPECT_THAT(batch_.fields[0].ids.offsets, ElementsAre(0, 3, 3));
  EXPECT_THAT(ids(1), ElementsAre(6, 5, 6));
  EXPECT_THAT(batch_.fields[1].ids.weights, IsEmpty());
  EXPECT_THAT(Add({"a:0.5|a:x", ""}), HasSubstr("column tags: expected a number as the weight"));
  EXPECT_EQ(place_.offset, 8u);
  EXPECT_EQ(batch_.rows, 2);
}

TEST_F(EncoderTest, SequenceKeepsItsLastValuesAndCountsTheCut) {
  const Schema schema = SchemaOf("item:category h:sequence(length=2,vocabulary=item)");
  Statistics statistics = EmptyStatistics(schema);
  statistics.vocabularies[0].keys = KeysOf("item", {"a", "b", "c"});
  Use(Fitted(schema, statistics));
  EXPECT_EQ(Add({"a", "a|b"}), "");
  EXPECT_EQ(encoder_->TakeCutSequences(), 0);
  EXPECT_EQ(Add({"b", "a|b|a|c"}), "");
  EXPECT_EQ(encoder_->TakeCutSequences(), 1);
  EXPECT_THAT(ids(1), ElementsAre(2, 3, 2, 4));
  EXPECT_THAT(batch_.fields[1].ids.offsets, ElementsAre(0, 2, 4));
}

TEST_F(EncoderTest, SequencesHaveWeightsThatAreCutWithTheirValues) {
  const Schema schema = SchemaOf("h:sequence(length=2,weighted)");
  Statistics statistics = EmptyStatistics(schema);
  statistics.vocabularies[0].keys = KeysOf("h", {"a", "b", "c"});
  Use(Fitted(schema, statistics));
  EXPECT_TRUE(Fitted(schema, statistics).features().features[0].weighted);
  EXPECT_EQ(Add({"a:0.5"}), "");
  EXPECT_EQ(Add({"a:1|b:2|c|a:4"}), "");
  EXPECT_EQ(Add({""}), "");
  EXPECT_EQ(Add({"b:6|c:7"}), "");
  EXPECT_THAT(ids(0), ElementsAre(2, 4, 2, 3, 4));
  EXPECT_THAT(batch_.fields[0].ids.weights, ElementsAre(0.5f, 1.f, 4.f, 6.f, 7.f));
  EXPECT_THAT(batch_.fields[0].ids.offsets, ElementsAre(0, 1, 3, 3, 5));
  EXPECT_EQ(encoder_->TakeCutSequences(), 1);
}

TEST_F(EncoderTest, WeightGroupAndLabel) {
  UseWords("a:number w:weight q:group y:label(no,yes)");
  EXPECT_EQ(Add({"1", "2.5", "u5", "yes"}), "");
  EXPECT_EQ(Add({"1", "", "u5.0", "no"}), "");
  EXPECT_THAT(batch_.fields[1].values, ElementsAre(2.5f, 1.f));
  EXPECT_THAT(batch_.fields[2].ids.ids[0], HashBytes("u5", HashBytes("q")));
  EXPECT_THAT(batch_.fields[3].values, ElementsAre(1.f, 0.f));
  EXPECT_EQ(Add({"1", "-1", "u", "yes"}), "column w: expected a weight of at least 0, found '-1'");
  EXPECT_THAT(Add({"1", "x", "u", "yes"}), HasSubstr("expected a weight"));
  EXPECT_EQ(place_.source, 1);
  EXPECT_THAT(Add({"1", "1", "u", "maybe"}), HasSubstr("column y: expected one of the 2"));
}

TEST_F(EncoderTest, AbsentInputsGetValuesWithoutTheirColumns) {
  const Schema schema = SchemaOf("x:number y:label(no,yes) w:weight user:group");
  const FittedSchema fitted = Fitted(schema, EmptyStatistics(schema));
  const std::vector<InputSpec> inputs = schema.Inputs();
  const std::vector<std::string> absent = {"y", "w", "user"};
  auto encoder = Encoder::Make(fitted, inputs, absent);
  ASSERT_TRUE(encoder.ok()) << encoder.status();
  encoder_ = *std::move(encoder);
  batch_.fields.resize(inputs.size());
  EXPECT_EQ(Add({"2", "", "", ""}), "");
  EXPECT_EQ(Add({"3", "maybe", "-1", "u"}), "");
  EXPECT_THAT(batch_.fields[0].values, ElementsAre(2, 3));
  EXPECT_THAT(batch_.fields[1].values, ElementsAre(0, 0));
  EXPECT_THAT(batch_.fields[2].values, ElementsAre(1, 1));
  EXPECT_THAT(ids(3), ElementsAre(0, 0));
  for (int source = 0; source < 4; ++source) EXPECT_EQ(encoder_->reads(source), source == 0);
  const std::vector<std::string> needed = {"numbers"};
  EXPECT_THAT(std::string(Message(Encoder::Make(fitted, inputs, needed).status())),
              HasSubstr("the model needs input numbers"));
}

TEST_F(EncoderTest, LabelWeightAndGroupMayBeLeftOut) {
  const Schema schema = SchemaOf("a:number w:weight q:group y:label");
  Use(Fitted(schema, EmptyStatistics(schema)), {{"numbers", InputKind::kDense, 1}});
  EXPECT_FALSE(encoder_->reads(1));
  EXPECT_EQ(Add({"1", "", "", ""}), "");
  EXPECT_FALSE(Encoder::Make(Fitted(schema, EmptyStatistics(schema)),
                             std::vector<InputSpec>{{"y", InputKind::kLabel, 1}})
                   .ok());
}

}  // namespace
}  // namespace flotilla
