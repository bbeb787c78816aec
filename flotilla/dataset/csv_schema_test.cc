#include "flotilla/dataset/csv_schema.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/base/temp_dir_testing.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Role = CsvColumn::Role;

CsvSchema Schema(std::string_view text) {
  StatusOr<CsvSchema> schema = CsvSchema::FromText(text);
  EXPECT_TRUE(schema.ok()) << schema.status() << " in " << text;
  return schema.ok() ? *std::move(schema) : CsvSchema();
}

std::string SchemaError(std::string_view text) {
  return std::string(Message(CsvSchema::FromText(text).status()));
}

constexpr std::string_view kWords =
    "delimiter=semicolon header=yes quotes=no trim=1 missing=?,NA hash_dim=1000 "
    "age:dense - -*2 hours:dense(input=numbers,min=1,diff=2.5) gain:dense(input=numbers,log) "
    "city:id zip:id(number) tags:bag(separator=comma,number) more:bag extra:ignore "
    "wage:label(<=50K|<=50K.,>50K|>50K.,input=label) -*";

TEST(CsvSchemaTest, WordsSetEverything) {
  const CsvSchema schema = Schema(kWords);
  EXPECT_EQ(schema.delimiter, ';');
  EXPECT_TRUE(schema.header);
  EXPECT_FALSE(schema.quotes);
  EXPECT_TRUE(schema.trim);
  EXPECT_THAT(schema.missing, ElementsAre("?", "NA"));
  EXPECT_EQ(schema.hash_dim, 1000u);
  EXPECT_TRUE(schema.ignore_rest);
  ASSERT_EQ(schema.columns.size(), 12u);
  EXPECT_EQ(schema.columns[0], (CsvColumn{.name = "age", .role = Role::kDense}));
  for (int ignored : {1, 2, 3}) EXPECT_EQ(schema.columns[ignored], CsvColumn());
  EXPECT_EQ(schema.columns[4],
            (CsvColumn{
                .name = "hours", .role = Role::kDense, .input = "numbers", .min = 1, .diff = 2.5}));
  EXPECT_TRUE(schema.columns[5].log);
  EXPECT_EQ(schema.columns[6], (CsvColumn{.name = "city", .role = Role::kId}));
  EXPECT_TRUE(schema.columns[7].number);
  EXPECT_EQ(schema.columns[8].separator, ',');
  EXPECT_TRUE(schema.columns[8].number);
  EXPECT_EQ(schema.columns[9].separator, '|');
  EXPECT_EQ(schema.columns[10], (CsvColumn{.name = "extra"}));
  EXPECT_EQ(schema.columns[11].input, "label");
  EXPECT_THAT(schema.columns[11].classes,
              ElementsAre(ElementsAre("<=50K", "<=50K."), ElementsAre(">50K", ">50K.")));
}

TEST(CsvSchemaTest, InputsStandInTheOrderOfTheirFirstColumns) {
  EXPECT_THAT(
      Schema(kWords).Inputs(),
      ElementsAre(InputSpec{"age", InputKind::kDense, 1},
                  InputSpec{"numbers", InputKind::kDense, 2}, InputSpec{"city", InputKind::kIds, 1},
                  InputSpec{"zip", InputKind::kIds, 1}, InputSpec{"tags", InputKind::kIds, 1},
                  InputSpec{"more", InputKind::kIds, 1}, InputSpec{"label", InputKind::kLabel, 1}));
}

TEST(CsvSchemaTest, JsonSaysTheSameAsWords) {
  EXPECT_EQ(Schema(R"({
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
            Schema(kWords));
}

TEST(CsvSchemaTest, JsonFormGivesTheSchemaBack) {
  const std::string_view odd_name = R"x({"columns": ["a b\"c:id(number)"]})x";
  for (const std::string_view text : {kWords, std::string_view("a:id b:label"), odd_name}) {
    const CsvSchema schema = Schema(text);
    EXPECT_EQ(Schema(schema.ToJson()), schema) << schema.ToJson();
  }
}

TEST(CsvSchemaTest, WhatTheTextDoesNotSayIsAsInTheDefaults) {
  CsvSchema defaults;
  defaults.delimiter = '\t';
  defaults.quotes = false;
  StatusOr<CsvSchema> schema = CsvSchema::FromText("quotes=yes a:id", defaults);
  ASSERT_TRUE(schema.ok()) << schema.status();
  EXPECT_EQ(schema->delimiter, '\t');
  EXPECT_TRUE(schema->quotes);
}

TEST(CsvSchemaTest, ErrorsNameTheWord) {
  EXPECT_THAT(SchemaError(""), HasSubstr("no column fills an input"));
  EXPECT_THAT(SchemaError("a:ignore -"), HasSubstr("no column fills an input"));
  EXPECT_THAT(SchemaError("a:id b"), HasSubstr("'b': expected <column>:<role>"));
  EXPECT_THAT(SchemaError(":id"), HasSubstr("':id': expected <column>:<role>"));
  EXPECT_THAT(SchemaError("a:number"), HasSubstr("'a:number': 'number' is not one of dense, id"));
  EXPECT_THAT(SchemaError("a:id(log)"), HasSubstr("'a:id(log)': unknown argument 'log'"));
  EXPECT_THAT(SchemaError("a:id(number"), HasSubstr("the parenthesis is not closed"));
  EXPECT_THAT(SchemaError("a:dense(min=x)"), HasSubstr("'x' is not a finite number"));
  EXPECT_THAT(SchemaError("a:dense(diff=0)"),
              HasSubstr("column 1 (a): min and diff must be finite"));
  EXPECT_THAT(SchemaError("headers=yes a:id"), HasSubstr("'headers=yes': expected"));
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
  EXPECT_THAT(SchemaError("a:label b:label"), HasSubstr("column 2 (b): second label"));
  EXPECT_THAT(SchemaError("a:label(x,y|x)"), HasSubstr("duplicate class 'x'"));
  EXPECT_THAT(SchemaError("a:id b:dense(input=a)"),
              HasSubstr("input a has columns of different kinds"));
  EXPECT_THAT(SchemaError("\xff:id"), HasSubstr("not UTF-8"));
}

TEST(CsvSchemaTest, ErrorsNameTheMember) {
  EXPECT_THAT(SchemaError("{"), HasSubstr("not a JSON object"));
  EXPECT_THAT(SchemaError("{\"columns\": 5}"), HasSubstr("columns: expected an array"));
  EXPECT_THAT(SchemaError("{\"columns\": [5]}"),
              HasSubstr("columns: column 1: expected a string or"));
  EXPECT_THAT(SchemaError("{\"column\": []}"), HasSubstr("column: unknown member"));
  EXPECT_THAT(SchemaError(R"({"columns": ["a:id", {"name": 5}]})"),
              HasSubstr("columns: column 2: name: expected a string"));
  EXPECT_THAT(SchemaError(R"({"columns": [{"rol": "id"}]})"), HasSubstr("rol: unknown member"));
  EXPECT_THAT(SchemaError(R"({"columns": [{"role": "id"}]})"), HasSubstr("column 1 (): no name"));
  EXPECT_THAT(SchemaError(R"({"hash_dim": -5, "columns": ["a:id"]})"),
              HasSubstr("hash_dim: expected a whole number"));
  for (const char* member :
       {"\"min\": 1", "\"log\": true", "\"separator\": \",\"", "\"classes\": [[\"x\"]]"}) {
    EXPECT_THAT(SchemaError(fmt::format(
                    "{{\"columns\": [{{\"name\": \"a\", \"role\": \"id\", {}}}]}}", member)),
                HasSubstr("column 1 (a): a member does not apply to a column of role id"));
  }
  EXPECT_THAT(SchemaError(R"({"header": 1})"), HasSubstr("header: expected true or false"));
  EXPECT_THAT(SchemaError(R"({"columns": ["-*", {"name": "a", "role": "id"}]})"),
              HasSubstr("nothing may follow -*"));
}

TEST(CsvSchemaTest, FileIsReadWholeOrNamedInTheError) {
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
