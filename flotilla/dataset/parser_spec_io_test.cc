#include "flotilla/dataset/parser_spec_io.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/dataset/criteo_parser.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

std::string SpecError(std::string_view text) {
  const auto spec = ParserSpecFromJson(text);
  return spec.ok() ? "ok" : std::string(Message(spec.status()));
}

TEST(ParserSpecIoTest, SpecsComeBackEqual) {
  const ParserSpec criteo{.format = "criteo", .params = {{"hash_dim", "10"}, {"numeric", "log"}}};
  ParserSpec piped = criteo, plain = criteo;
  piped.pipe_command = "python3 'a b.py' | sort";
  plain.pipe_command = "";
  for (const ParserSpec& spec : {criteo, piped, plain, ParserSpec{}}) {
    const auto text = ParserSpecToJson(spec);
    ASSERT_TRUE(text.ok()) << text.status();
    const auto again = ParserSpecFromJson(*text);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(*again, spec);
  }
}

// Otherwise a changed default in a later version would give old models other ids.
TEST(ParserSpecIoTest, DefaultsAreWritten) {
  const auto again = ParserSpecFromJson(*ParserSpecToJson({.format = "criteo"}));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->params,
            (std::map<std::string, std::string>{{"hash_dim", "1000001"}, {"numeric", "seeds"}}));
}

TEST(ParserSpecIoTest, TheContentOfASchemaFileIsStoredInItsPlace) {
  const TempDir dir;
  const std::vector<InputSpec> inputs = {{.name = "age", .kind = InputKind::kDense, .width = 1},
                                         {.name = "click", .kind = InputKind::kLabel, .width = 1}};
  const ParserSpec spec{
      .format = "csv",
      .params = {{"schema_file", dir.Write("schema.txt", "age:dense click:label\n")}}};
  const auto text = ParserSpecToJson(spec);
  ASSERT_TRUE(text.ok()) << text.status();
  const auto again = ParserSpecFromJson(*text);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->params.contains("schema_file"));
  const auto from_file = MakeParser(spec, inputs);
  const auto from_text = MakeParser(*again, inputs);
  ASSERT_TRUE(from_file.ok()) << from_file.status();
  ASSERT_TRUE(from_text.ok()) << from_text.status();
  EXPECT_EQ((*from_text)->identity(), (*from_file)->identity());
  const ParserSpec missing{.format = "csv", .params = {{"schema_file", dir.path() + "/none"}}};
  EXPECT_THAT(std::string(Message(ParserSpecToJson(missing).status())),
              HasSubstr(dir.path() + "/none"));
}

TEST(ParserSpecIoTest, TheContentOfAStatisticsFileIsStoredInItsPlace) {
  const TempDir dir;
  CriteoStatistics statistics;
  statistics.columns[2] = {.min = -1, .p95 = 77};
  const ParserSpec spec{
      .format = "criteo",
      .params = {{"numeric", "statistics"},
                 {"statistics_file", dir.Write("statistics.json", ToText(statistics))}}};
  const auto text = ParserSpecToJson(spec);
  ASSERT_TRUE(text.ok()) << text.status();
  const auto again = ParserSpecFromJson(*text);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->params.contains("statistics_file"));
  const auto from_file = MakeParser(spec, CriteoInputs());
  const auto from_text = MakeParser(*again, CriteoInputs());
  ASSERT_TRUE(from_file.ok()) << from_file.status();
  ASSERT_TRUE(from_text.ok()) << from_text.status();
  EXPECT_EQ((*from_text)->identity(), (*from_file)->identity());
}

TEST(ParserSpecIoTest, ErrorsSayWhere) {
  EXPECT_THAT(SpecError("{"), HasSubstr("parse error"));
  EXPECT_EQ(SpecError("[]"), "expected an object");
  EXPECT_EQ(SpecError("{}"), "format: expected a string, it is missing");
  EXPECT_EQ(SpecError(R"({"format": "csv"})"), "params: expected an object, it is missing");
  EXPECT_EQ(SpecError(R"({"format": "csv", "params": {"k": 1}})"),
            "params.k: expected a string, found 1");
  EXPECT_EQ(SpecError(R"({"format": "csv", "params": {}, "pipe_command": 1})"),
            "pipe_command: expected a string, found 1");
  EXPECT_FALSE(ParserSpecToJson({.format = "\xff"}).ok());
}

}  // namespace
}  // namespace flotilla
