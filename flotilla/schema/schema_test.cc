#include "flotilla/schema/schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/schema/builtin_schemas.h"
#include "flotilla/schema/schema_testing.h"
#include "flotilla/schema/schema_words.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Role = Column::Role;

Column Entry(std::string name, Role role) {
  Column column;
  column.name = std::move(name);
  column.role = role;
  return column;
}

std::string SchemaError(std::string_view text) {
  return std::string(Message(Schema::FromText(text).status()));
}

constexpr std::string_view kWords =
    "delimiter=semicolon header=yes quotes=no trim=1 missing=?,NA hash_dim=1000 "
    "age:dense - -*2 hours:dense(input=numbers,min=1,diff=2.5) gain:dense(input=numbers,log) "
    "city:id zip:id(number) tags:bag(separator=comma,number) more:bag extra:ignore "
    "wage:label(<=50K|<=50K.,>50K|>50K.,input=label) -*";

TEST(SchemaTest, WordsSetEverything) {
  const Schema schema = SchemaOf(kWords);
  EXPECT_EQ(schema.delimiter, ';');
  EXPECT_TRUE(schema.header);
  EXPECT_FALSE(schema.quotes);
  EXPECT_TRUE(schema.trim);
  EXPECT_THAT(schema.missing, ElementsAre("?", "NA"));
  EXPECT_EQ(schema.hash_dim, 1000u);
  EXPECT_TRUE(schema.ignore_rest);
  ASSERT_EQ(schema.columns.size(), 12u);
  EXPECT_EQ(schema.columns[0], Entry("age", Role::kDense));
  Column hours = Entry("hours", Role::kDense);
  hours.input = "numbers";
  hours.min = 1;
  hours.diff = 2.5;
  for (int ignored : {1, 2, 3}) EXPECT_EQ(schema.columns[ignored], Column());
  EXPECT_EQ(schema.columns[4], hours);
  EXPECT_TRUE(schema.columns[5].log);
  EXPECT_EQ(schema.columns[6], Entry("city", Role::kId));
  EXPECT_TRUE(schema.columns[7].number);
  EXPECT_EQ(schema.columns[8].separator, ',');
  EXPECT_TRUE(schema.columns[8].number);
  EXPECT_EQ(schema.columns[9].separator, '|');
  EXPECT_EQ(schema.columns[10], Entry("extra", Role::kIgnore));
  EXPECT_EQ(schema.columns[11].input, "label");
  EXPECT_THAT(schema.columns[11].classes,
              ElementsAre(ElementsAre("<=50K", "<=50K."), ElementsAre(">50K", ">50K.")));
}

TEST(SchemaTest, InputsStandInTheOrderOfTheirFirstColumns) {
  EXPECT_THAT(
      SchemaOf(kWords).Inputs(),
      ElementsAre(InputSpec{"age", InputKind::kDense, 1},
                  InputSpec{"numbers", InputKind::kDense, 2}, InputSpec{"city", InputKind::kIds, 1},
                  InputSpec{"zip", InputKind::kIds, 1}, InputSpec{"tags", InputKind::kIds, 1},
                  InputSpec{"more", InputKind::kIds, 1}, InputSpec{"label", InputKind::kLabel, 1}));
}

TEST(SchemaTest, JsonSaysTheSameAsWords) {
  EXPECT_EQ(SchemaOf(R"({
      "delimiter": ";", "header": true, "quotes": false, "trim": true, "missing": ["?", "NA"],
      "hash_dim": 1000,
      "columns": [
        "age:dense", "-", "-*2",
        {"name": "hours", "role": "dense", "input": "numbers", "min": 1, "diff": 2.5},
        {"name": "gain", "role": "dense", "input": "numbers", "log": true},
        {"name": "city", "role": "id"},
        {"name": "zip", "role": "id", "number": true},
        {"name": "tags", "role": "bag", "separator": "comma", "number": true},
        "more:bag",
        {"name": "extra", "role": "ignore"},
        {"name": "wage", "role": "label", "input": "label",
         "classes": [["<=50K", "<=50K."], [">50K", ">50K."]]},
        "-*"]})"),
            SchemaOf(kWords));
}

TEST(SchemaTest, JsonFormGivesTheSchemaBack) {
  const std::string_view odd_name = R"x({"columns": ["a b\"c:id(number)"]})x";
  for (const std::string_view text : {kWords, std::string_view("a:id b:label"), odd_name}) {
    const Schema schema = SchemaOf(text);
    EXPECT_EQ(SchemaOf(schema.ToJson()), schema) << schema.ToJson();
  }
}

TEST(SchemaTest, WhatTheTextDoesNotSayIsAsInTheDefaults) {
  Schema defaults;
  defaults.delimiter = '\t';
  defaults.quotes = false;
  StatusOr<Schema> schema = Schema::FromText("quotes=yes a:id", defaults);
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_EQ(schema->delimiter, '\t');
  EXPECT_TRUE(schema->quotes);
}

TEST(SchemaTest, ErrorsNameTheWord) {
  EXPECT_THAT(SchemaError(""), HasSubstr("no column fills an input"));
  EXPECT_THAT(SchemaError("a:ignore -"), HasSubstr("no column fills an input"));
  EXPECT_THAT(SchemaError("a:id b"), HasSubstr("'b': expected <column>:<role>"));
  EXPECT_THAT(SchemaError(":id"), HasSubstr("':id': expected <column>:<role>"));
  EXPECT_THAT(SchemaError("a:what"), HasSubstr("'a:what': 'what' is not one of number, bucket"));
  EXPECT_THAT(SchemaError("a:id(log)"), HasSubstr("'a:id(log)': unknown argument 'log'"));
  EXPECT_THAT(SchemaError("a:id(number"), HasSubstr("the parenthesis is not closed"));
  EXPECT_THAT(SchemaError("a:dense(min=x)"), HasSubstr("'x' is not a finite number"));
  EXPECT_THAT(SchemaError("a:dense(diff=0)"), HasSubstr("column a: min and diff must be finite"));
  EXPECT_THAT(SchemaError("headers=yes a:id"),
              HasSubstr("'headers=yes': unknown setting, did you mean header?"));
  EXPECT_THAT(SchemaError("header=maybe a:id"), HasSubstr("'maybe' is neither yes nor no"));
  EXPECT_THAT(SchemaError("delimiter=ab a:id"),
              HasSubstr("'ab' is neither one character nor comma"));
  EXPECT_THAT(SchemaError("delimiter=\" a:id"),
              HasSubstr("the delimiter is a line end or a quote"));
  EXPECT_THAT(SchemaError("hash_dim=0 a:id"), HasSubstr("hash_dim 0 is not in"));
  EXPECT_THAT(SchemaError("hash_dim=9223372036854775808 a:id"), HasSubstr("is not in [1, 2^63)"));
  EXPECT_THAT(SchemaError("-*x a:id"), HasSubstr("'x' is not a whole number"));
  EXPECT_THAT(SchemaError("-*9999999999 a:id"), HasSubstr("more than 10000 columns"));
  EXPECT_THAT(SchemaError("a:id -* b:id"), HasSubstr("'b:id': nothing may follow -*"));
  EXPECT_THAT(SchemaError("a:label(x,y|x)"), HasSubstr("duplicate class 'x'"));
  EXPECT_THAT(SchemaError("a:id b:dense(input=a)"),
              HasSubstr("input a has columns of different kinds"));
  EXPECT_THAT(SchemaError("\xff:id"), HasSubstr("not UTF-8"));
}

TEST(SchemaTest, ErrorsNameTheMember) {
  EXPECT_THAT(SchemaError("{"), HasSubstr("not a JSON object"));
  EXPECT_THAT(SchemaError("{\"columns\": 5}"), HasSubstr("columns: expected an array"));
  EXPECT_THAT(SchemaError("{\"columns\": [5]}"),
              HasSubstr("columns: column 1: expected a string or"));
  EXPECT_THAT(SchemaError("{\"column\": []}"), HasSubstr("column: unknown member"));
  EXPECT_THAT(SchemaError(R"({"columns": ["a:id", {"name": 5}]})"),
              HasSubstr("columns: column 2: name: expected a string"));
  EXPECT_THAT(SchemaError(R"({"columns": [{"rol": "id"}]})"), HasSubstr("rol: unknown member"));
  EXPECT_THAT(SchemaError(R"({"columns": [{"role": "id"}]})"), HasSubstr("entry 1: no name"));
  EXPECT_THAT(SchemaError(R"({"hash_dim": -5, "columns": ["a:id"]})"),
              HasSubstr("hash_dim: expected a whole number"));
  for (const char* member :
       {"\"min\": 1", "\"log\": true", "\"separator\": \",\"", "\"classes\": [[\"x\"]]"}) {
    EXPECT_THAT(SchemaError(fmt::format(
                    "{{\"columns\": [{{\"name\": \"a\", \"role\": \"id\", {}}}]}}", member)),
                HasSubstr("column a: a member does not apply to a column of role id"));
  }
  EXPECT_THAT(SchemaError(R"({"header": 1})"), HasSubstr("header: expected true or false"));
  EXPECT_THAT(SchemaError(R"({"columns": ["-*", {"name": "a", "role": "id"}]})"),
              HasSubstr("nothing may follow -*"));
}

TEST(SchemaTest, RolesBeyondVersionOne) {
  const Schema schema = SchemaOf(
      "min_count=3 # comment: with a:words(in it)\n"
      "#whole line\n"
      "age:number(log,standardise)+bucket(quantiles=8)+category(min_count=5) "
      "price:bucket(borders=-1|0.5|10) item:category(vocabulary=goods) "
      "history:sequence(vocabulary=goods,length=7,separator=;) tags:list(weighted) "
      "big:category(hash) ten:category(hash_dim=10) when:time(iso) day:time(weekday) "
      "w:weight user:group note:keep y:label(task=regression) pair:cross(age,item,min_count=2)");
  using Coding = Column::Coding;
  EXPECT_EQ(schema.min_count, 3);
  ASSERT_EQ(schema.columns.size(), 17u);
  EXPECT_EQ(schema.columns[0].scale, Column::Scale::kStandard);
  EXPECT_EQ(schema.columns[0].input, "numbers");
  EXPECT_TRUE(schema.columns[1].also);
  EXPECT_EQ(schema.columns[1].quantiles, 8);
  EXPECT_EQ(schema.columns[1].input_name(), "age.bucket");
  EXPECT_EQ(schema.columns[2].coding, Coding::kVocabulary);
  EXPECT_EQ(schema.columns[2].min_count, 5);
  EXPECT_THAT(schema.columns[3].borders, ElementsAre(-1, 0.5, 10));
  EXPECT_EQ(schema.columns[4].vocabulary_name(), "goods");
  EXPECT_EQ(schema.columns[5].length, 7);
  EXPECT_EQ(schema.columns[5].separator, ';');
  EXPECT_TRUE(schema.columns[6].weighted);
  EXPECT_EQ(schema.columns[7].coding, Coding::kHash);
  EXPECT_EQ(schema.columns[8].hash_dim, 10u);
  EXPECT_EQ(schema.columns[9].input_name(), "when.hour");
  EXPECT_EQ(schema.columns[10].input_name(), "when.weekday");
  EXPECT_EQ(schema.columns[10].time, TimeFormat::kIso);
  EXPECT_EQ(schema.columns[11].part, Column::TimePart::kWeekday);
  EXPECT_EQ(schema.columns[15].task, LabelTask::kRegression);
  EXPECT_THAT(schema.columns[16].members, ElementsAre("age", "item"));
  EXPECT_THAT(schema.Sources(), ElementsAre(0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 7, 8, 9, 10, 11, 12, -1));
  EXPECT_EQ(schema.SourceCount(), 13);
  EXPECT_THAT(schema.VocabularyIndexes(),
              ElementsAre(-1, -1, 0, -1, 1, 1, 2, -1, -1, -1, -1, -1, -1, -1, -1, -1, 3));
  EXPECT_EQ(schema.MemberOf("age"), &schema.columns[2]);
  EXPECT_EQ(schema.MemberOf("age.bucket"), &schema.columns[1]);
  EXPECT_EQ(schema.MemberOf("history"), nullptr);
  EXPECT_EQ(SchemaOf(schema.ToJson()), schema) << schema.ToJson();
}

TEST(SchemaTest, InputsOfTheNewRoles) {
  EXPECT_THAT(
      SchemaOf("a:number+category b:number c:bucket w:weight g:group k:keep t:time(hour) "
               "y:label z:label")
          .Inputs(),
      ElementsAre(InputSpec{"numbers", InputKind::kDense, 2}, InputSpec{"a", InputKind::kIds, 1},
                  InputSpec{"c.bucket", InputKind::kIds, 1}, InputSpec{"w", InputKind::kDense, 1},
                  InputSpec{"g", InputKind::kIds, 1}, InputSpec{"t.hour", InputKind::kIds, 1},
                  InputSpec{"y", InputKind::kLabel, 1}, InputSpec{"z", InputKind::kLabel, 1}));
}

TEST(SchemaTest, QuotedNamesAndClassesMayHoldAnything) {
  const Schema schema =
      SchemaOf(R"("capital gain":number "a:b+c":category y:label("no, never"|n,"say ""yes"""))");
  EXPECT_EQ(schema.columns[0].name, "capital gain");
  EXPECT_EQ(schema.columns[1].name, "a:b+c");
  EXPECT_THAT(schema.columns[2].classes,
              ElementsAre(ElementsAre("no, never", "n"), ElementsAre("say \"yes\"")));
  for (const char* text : {"plain", "two words", "a\"b", "", "#x", "x(y)", "-", "<=50K"}) {
    const Schema again = SchemaOf(fmt::format("c:id y:label({},other)", QuotedWord(text)));
    EXPECT_EQ(again.columns[1].classes[0][0], text) << QuotedWord(text);
  }
}

TEST(SchemaTest, ContradictionsOfTheNewRolesAreNamed) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"a:category(min_count=0)", "'0' is less than 1"},
      {"a:category(hash,min_count=2)", "min_count needs a vocabulary"},
      {"a:category(hash_dim=0)", "hash_dim 0 is not in [1, 2^48)"},
      {"a:bucket(borders=2|1)", "the borders must ascend"},
      {"a:bucket(quantiles=1)", "quantiles must be in [2,"},
      {"a:number(minmax,min=3)", "take their figures from the training files"},
      {"a:sequence(length=0)", "'0' is less than 1"},
      {"a:category x:cross(a)", "a cross has at least two members"},
      {"a:category x:cross(a,b)", "no category, bucket or time 'b' to cross"},
      {"a:bucket(quantiles=3) b:category x:cross(a,b)", "give the cross hash"},
      {"a:category(vocabulary=v,min_count=2) b:category(vocabulary=v)",
       "vocabulary v has another min_count in column a"},
      {"a:id(number) b:category", "use category instead of id(number)"},
      {"a:weight b:weight c:id", "more than one column is the weight"},
      {"a:group b:group c:id", "more than one column is the group"},
      {"a:sequence(input=x) b:category(input=x)", "input x is filled by two columns, a and b"},
      {"a:weight(input=x) b:number(input=x)", "input x has columns of different kinds"},
      {"header=yes a:id b:id a:dense(input=z)", "column a: the column is listed twice"},
      {"a:label(x,y,task=regression) b:id", "a regression has no classes"},
      {"a:sequence+category(input=a)", "filled by two uses of the column a"},
      {"a:time(weeks)", "unknown argument 'weeks', did you mean weekday?"},
      {"a:category(mincount=3)", "unknown argument 'mincount=3', did you mean min_count?"},
      {"a:number(standardize)", "unknown argument 'standardize', did you mean standardise?"},
      {"mincount=3 a:category", "unknown setting, did you mean min_count?"},
      {"a:keep(input=x)", "unknown argument 'input=x'"},
      {"a:label(task=what)", "'what' is not one of click, regression, classes"}};
  for (const auto& [text, error] : cases) EXPECT_THAT(SchemaError(text), HasSubstr(error)) << text;
}

TEST(SchemaTest, TheGroupOfACategoryHasAnInputOfItsOwn) {
  const Schema both = SchemaOf("user:category+group y:label");
  ASSERT_EQ(both.Inputs().size(), 3u);
  EXPECT_EQ(both.Inputs()[0].name, "user");
  EXPECT_EQ(both.Inputs()[1].name, "user.group");
  EXPECT_EQ(SchemaOf("user:group+category(input=u) y:label").Inputs()[0].name, "user");
}

TEST(SchemaTest, BuiltinSchemaReadsRawCriteoRows) {
  const StatusOr<Schema> schema = LoadSchema("criteo");
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_EQ(schema->SourceCount(), 40);
  EXPECT_EQ(schema->delimiter, '\t');
  EXPECT_EQ(schema->Inputs().size(), 1u + 1 + 13 + 26);
  EXPECT_EQ(BuiltinSchema("none"), "");
}

TEST(SchemaTest, FileIsReadWholeOrNamedInTheError) {
  TempDir dir;
  const std::string text = std::string(10000, ' ') + "a:id";
  StatusOr<std::string> read = ReadSchemaFile(dir.Write("schema", text));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, text);
  EXPECT_THAT(std::string(Message(ReadSchemaFile(dir.path() + "/none").status())),
              HasSubstr("/none"));
}

}  // namespace
}  // namespace flotilla
