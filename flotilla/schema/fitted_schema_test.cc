#include "flotilla/schema/fitted_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/schema/schema_testing.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;
using Range = FittedSchema::IdRange;

TEST(FittedSchemaTest, VocabulariesGetConsecutiveRangesAndSharedOnesTheSame) {
  const Schema schema = SchemaOf(
      "a:number+bucket(quantiles=4) item:category history:sequence(vocabulary=item,length=9) "
      "t:time(seconds) c:category(hash_dim=10) y:label x:cross(item,c)");
  Statistics statistics = EmptyStatistics(schema);
  statistics.numbers[1].borders = {1, 2, 3};
  statistics.vocabularies[0].keys = {11, 12};      // item
  statistics.vocabularies[1].keys = {21, 22, 23};  // x
  const FittedSchema fitted = Fitted(schema, statistics);
  EXPECT_THAT(fitted.id_ranges(),
              ElementsAre(Range{0, 0}, Range{0, 5}, Range{5, 4}, Range{5, 4}, Range{9, 25},
                          Range{34, 8}, Range{42, 11}, Range{0, 0}, Range{53, 5}));
  const Features& features = fitted.features();
  EXPECT_EQ(features.id_rows, 58);
  ASSERT_EQ(features.features.size(), 8u);
  EXPECT_EQ(features.features[0],
            (Feature{.input = "numbers", .kind = Feature::Kind::kNumber, .vocabulary = ""}));
  EXPECT_EQ(features.features[1].input, "a.bucket");
  EXPECT_EQ(features.features[2].vocabulary, "item");
  EXPECT_EQ(features.features[3], (Feature{.input = "history",
                                           .kind = Feature::Kind::kSequence,
                                           .length = 9,
                                           .vocabulary = "item"}));
  EXPECT_EQ(features.features[4].input, "t.hour");
  EXPECT_EQ(features.features[5].input, "t.weekday");
  EXPECT_EQ(features.features[7].input, "x");
}

TEST(FittedSchemaTest, HashedColumnsMakeTheIdSpaceUnbounded) {
  const Schema schema = SchemaOf("a:category b:category(hash) y:label");
  EXPECT_EQ(Fitted(schema, EmptyStatistics(schema)).features().id_rows, 0);
  const Schema counted = SchemaOf("a:category y:label");
  Statistics statistics = EmptyStatistics(counted);
  EXPECT_EQ(Fitted(counted, statistics).features().id_rows, 2);
  statistics.vocabularies[0].hashed = true;
  EXPECT_EQ(Fitted(counted, statistics).features().id_rows, 0);
}

TEST(FittedSchemaTest, IdsOfVersionOneComeFirst) {
  const Schema schema = SchemaOf("hash_dim=100 a:id b:category y:label");
  const FittedSchema fitted = Fitted(schema, EmptyStatistics(schema));
  EXPECT_THAT(fitted.id_ranges(), ElementsAre(Range{0, 100}, Range{100, 2}, Range{0, 0}));
  EXPECT_EQ(fitted.features().id_rows, 102);
}

TEST(FittedSchemaTest, LabelWeightAndGroupAreNamed) {
  const Schema schema = SchemaOf("a:id w:weight q:group(input=user) y:label(no,yes,maybe) z:label");
  Statistics statistics = EmptyStatistics(schema);
  statistics.labels[3].task = LabelTask::kClasses;
  statistics.labels[4] = {.task = LabelTask::kRegression, .mean = 2.5};
  const Features features = Fitted(schema, statistics).features();
  EXPECT_EQ(features.weight, "w");
  EXPECT_EQ(features.group, "user");
  EXPECT_THAT(
      features.labels,
      ElementsAre(
          LabelFeature{.input = "y", .task = LabelTask::kClasses, .classes = 3},
          LabelFeature{.input = "z", .task = LabelTask::kRegression, .classes = 0, .mean = 2.5}));
}

TEST(FittedSchemaTest, StatisticsAreAskedForWhereTheyAreNeeded) {
  EXPECT_TRUE(FittedSchema::Make(SchemaOf("a:id b:number y:label"), std::nullopt).ok());
  for (const char* word : {"category", "number(standardise)", "number(minmax)",
                           "bucket(quantiles=3)", "bucket", "sequence", "list"}) {
    const Status status =
        FittedSchema::Make(SchemaOf(fmt::format("a:{} y:label", word)), std::nullopt).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << word;
    EXPECT_THAT(std::string(Message(status)), HasSubstr("`flotilla data stats")) << word;
  }
  const Schema schema = SchemaOf("a:category y:label");
  EXPECT_FALSE(FittedSchema::Make(schema, EmptyStatistics(SchemaOf("a:category z:label"))).ok());
}

TEST(FittedSchemaTest, IdentityOfOldSchemasIsThatOfEarlierReleases) {
  const Schema old =
      SchemaOf("header=yes age:dense(input=x,log) city:id tags:bag -*2 y:label(a,b)");
  EXPECT_EQ(FittedSchema::Make(old, std::nullopt)->identity(),
            R"(csv/1 {"delimiter":",","header":true,"quotes":true,"trim":false,"missing":[],)"
            R"("hash_dim":1000001,"ignore_rest":false,"columns":[)"
            R"({"name":"age","role":"dense","input":"x","min":0.0,"diff":1.0,"log":true},)"
            R"({"name":"city","role":"id","input":"","number":false},)"
            R"({"name":"tags","role":"bag","input":"","number":false,"separator":"|"},)"
            R"({"name":"","role":"ignore","input":""},{"name":"","role":"ignore","input":""},)"
            R"({"name":"y","role":"label","input":"","classes":[["a"],["b"]]}]})");
}

TEST(FittedSchemaTest, IdentityDependsOnFiguresButNotOnFileNames) {
  const Schema schema = SchemaOf("a:category y:label");
  Statistics statistics = EmptyStatistics(schema);
  const std::string identity = Fitted(schema, statistics).identity();
  EXPECT_THAT(identity, StartsWith("csv/2 "));
  statistics.files = {{"elsewhere.csv", 5}};
  EXPECT_EQ(Fitted(schema, statistics).identity(), identity);
  statistics.vocabularies[0].keys = {7};
  EXPECT_NE(Fitted(schema, statistics).identity(), identity);
}

TEST(FittedSchemaTest, TextGivesBothPartsBack) {
  const Schema schema = SchemaOf("a:category \"b c\":number(log)+bucket y:label");
  Statistics statistics = EmptyStatistics(schema);
  statistics.vocabularies[0].keys = {5, 6};
  const FittedSchema fitted = Fitted(schema, statistics);
  const StatusOr<FittedSchema> again = FittedSchema::FromText(fitted.ToText());
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->schema(), schema);
  EXPECT_EQ(*again->statistics(), statistics);
  EXPECT_EQ(again->identity(), fitted.identity());
  EXPECT_FALSE(FittedSchema::FromText("{}").ok());
  EXPECT_FALSE(FittedSchema::FromText("x").ok());
}

}  // namespace
}  // namespace flotilla
