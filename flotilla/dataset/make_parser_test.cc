#include "flotilla/dataset/make_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/dataset/criteo_parser.h"
#include "flotilla/schema/schema_testing.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

const InputSpec kLabel = {"label", InputKind::kLabel, 1};
const InputSpec kF0 = {"F0", InputKind::kIds, 1};

std::string IdentityOf(const ParserSpec& spec, const std::vector<InputSpec>& inputs) {
  StatusOr<std::unique_ptr<Parser>> parser = MakeParser(spec, inputs);
  EXPECT_TRUE(parser.ok()) << parser.status();
  return parser.ok() ? (*parser)->identity() : "";
}

std::string MakeParserError(const ParserSpec& spec, const std::vector<InputSpec>& inputs) {
  return std::string(Message(MakeParser(spec, inputs).status()));
}

TEST(MakeParserTest, EveryFormatIsMadeAndTakesItsParameters) {
  EXPECT_EQ(IdentityOf({"corpus", {{"vocabulary", "9"}}}, {kF0}), "corpus/1 vocabulary=9");
  EXPECT_EQ(IdentityOf({"criteo", {{"hash_dim", "7"}, {"numeric", "log"}}}, CriteoInputs()),
            "criteo/2 numeric=log hash_dim=7");
  EXPECT_EQ(IdentityOf({"criteo"}, CriteoInputs()), "criteo/2 numeric=seeds hash_dim=1000001");
  EXPECT_THAT(IdentityOf({"csv", {{"schema", "F0:id label:label"}}}, {kF0, kLabel}),
              HasSubstr("\"delimiter\":\",\""));
  EXPECT_THAT(IdentityOf({"tsv", {{"schema", "F0:id label:label"}}}, {kF0, kLabel}),
              HasSubstr("\"delimiter\":\"\\t\",\"header\":false,\"quotes\":false"));
  EXPECT_EQ(IdentityOf({"libffm", {{"fields", "-,F0"}, {"labels", "whole"}, {"single", "yes"}}},
                       {kF0, kLabel}),
            "libffm/2 labels=whole single=true fields=-1,0,");
  EXPECT_EQ(IdentityOf({"libsvm", {{"first_index", "0"}, {"labels", "binary"}}}, {kF0, kLabel}),
            "libsvm/2 labels=binary first_index=0 group=");
  EXPECT_EQ(IdentityOf({"libsvm", {{"labels", "1,2"}, {"positions", "1"}}}, {kF0, kLabel}),
            "libsvm/2 labels=1,2 first_index=1 group= positions=1");
  EXPECT_EQ(IdentityOf({"multislot", {{"single", "F0"}}}, {kF0, kLabel}), "multislot/1 single=10");
  EXPECT_EQ(IdentityOf({"multislot", {{"single", "all"}}}, {kF0, kLabel}), "multislot/1 single=10");
}

TEST(MakeParserTest, SchemaComesFromAFile) {
  TempDir dir;
  const std::string good = dir.Write("good", "F0:id\nlabel:label\n");
  EXPECT_EQ(IdentityOf({"csv", {{"schema_file", good}}}, {kF0, kLabel}),
            IdentityOf({"csv", {{"schema", "F0:id label:label"}}}, {kF0, kLabel}));
  const std::string bad = dir.Write("bad", "F0:what");
  EXPECT_THAT(MakeParserError({"csv", {{"schema_file", bad}}}, {kF0, kLabel}),
              HasSubstr(bad + ": schema: 'F0:what'"));
  EXPECT_THAT(MakeParserError({"csv", {{"schema_file", dir.path() + "/none"}}}, {kF0}),
              HasSubstr("/none"));
  EXPECT_THAT(MakeParserError({"csv"}, {kF0}), HasSubstr("csv: set either schema or schema_file"));
  EXPECT_THAT(MakeParserError({"csv", {{"schema", "F0:id"}, {"schema_file", good}}}, {kF0}),
              HasSubstr("set either"));
}

TEST(MakeParserTest, StatisticsOfASchemaComeFromAFileOrAsText) {
  TempDir dir;
  const Schema schema = *Schema::FromText("F0:category label:label(0,1)");
  Statistics statistics = EmptyStatistics(schema);
  statistics.vocabularies[0].keys = {5};
  const std::string file = dir.path() + "/x.stats";
  ASSERT_TRUE(WriteStatistics(file, statistics).ok());
  const std::string text = "F0:category label:label(0,1)";
  const ParserSpec spec{"csv", {{"schema", text}, {"statistics_file", file}}};
  const FittedSchema fitted = *FittedSchema::Make(schema, statistics);
  EXPECT_EQ(IdentityOf(spec, {kF0, kLabel}), fitted.identity());
  EXPECT_EQ(IdentityOf(SpecOf(fitted), {kF0, kLabel}), fitted.identity());
  EXPECT_EQ(SchemaOfSpec(SpecOf(fitted))->features(), fitted.features());
  // Beside a schema file they are found.
  const std::string schema_file = dir.Write("x", text);
  EXPECT_EQ(IdentityOf({"csv", {{"schema_file", schema_file}}}, {kF0, kLabel}), fitted.identity());
  EXPECT_THAT(MakeParserError({"csv", {{"schema", text}}}, {kF0, kLabel}),
              HasSubstr("csv: the schema needs statistics of the training files"));
  EXPECT_THAT(
      MakeParserError({"csv", {{"schema", text}, {"statistics", "x"}, {"statistics_file", file}}},
                      {kF0, kLabel}),
      HasSubstr("set either statistics or statistics_file"));
  EXPECT_THAT(
      MakeParserError({"csv", {{"schema", "F0:category"}, {"statistics_file", file}}}, {kF0}),
      HasSubstr(file + ": the statistics were made for another schema"));
}

TEST(MakeParserTest, ASchemaMayBeABuiltInOne) {
  EXPECT_THAT(MakeParserError({"tsv", {{"schema", "criteo"}}}, {kF0, kLabel}),
              HasSubstr("the schema needs statistics of the training files"));
}

TEST(MakeParserTest, CriteoStatisticsComeFromAFile) {
  TempDir dir;
  CriteoStatistics statistics;
  for (CriteoStatistics::Column& column : statistics.columns) column = {.min = -2, .p95 = 8};
  const std::string file = dir.Write("statistics.json", ToText(statistics));
  const ParserSpec spec{"criteo", {{"numeric", "statistics"}, {"statistics_file", file}}};
  EXPECT_THAT(IdentityOf(spec, CriteoInputs()), HasSubstr("numeric=statistics(-2,-2,"));
  EXPECT_EQ(IdentityOf({"criteo", {{"numeric", "statistics"}, {"statistics", ToText(statistics)}}},
                       CriteoInputs()),
            IdentityOf(spec, CriteoInputs()));
  EXPECT_THAT(MakeParserError({"criteo", {{"numeric", "statistics"}}}, CriteoInputs()),
              HasSubstr("numeric=statistics needs one of statistics_file and statistics"));
  EXPECT_THAT(MakeParserError({"criteo", {{"statistics_file", file}}}, CriteoInputs()),
              HasSubstr("numeric=statistics needs one of"));
  const std::string bad = dir.Write("bad.json", "{\"format\": 3}");
  EXPECT_EQ(MakeParserError({"criteo", {{"numeric", "statistics"}, {"statistics_file", bad}}},
                            CriteoInputs()),
            "criteo: " + bad + ": format: expected a string, found 3");
}

TEST(MakeParserTest, UnknownNamesAreErrorsThatListTheKnownOnes) {
  EXPECT_EQ(MakeParserError({"parquet"}, {kF0}),
            "unknown data format parquet; known: corpus, criteo, csv, libffm, libsvm, "
            "multislot, tsv");
  EXPECT_EQ(MakeParserError({"criteo", {{"hashdim", "5"}}}, CriteoInputs()),
            "criteo: unknown parameter hashdim, did you mean hash_dim?");
  EXPECT_EQ(MakeParserError({"criteo", {{"delimiter", ";"}}}, CriteoInputs()),
            "criteo: unknown parameter delimiter; known: hash_dim, numeric, statistics, "
            "statistics_file");
}

TEST(MakeParserTest, ValuesOfParametersAreChecked) {
  EXPECT_EQ(MakeParserError({"criteo", {{"hash_dim", "many"}}}, CriteoInputs()),
            "criteo: hash_dim: 'many' is not a whole number");
  EXPECT_EQ(MakeParserError({"criteo", {{"numeric", "raw"}}}, CriteoInputs()),
            "criteo: numeric: 'raw' is not one of seeds, log, statistics");
  EXPECT_EQ(MakeParserError({"libffm", {{"single", "1"}}}, {kF0, kLabel}),
            "libffm: single: '1' is not one of no, yes");
  EXPECT_THAT(MakeParserError({"csv", {{"schema", "F0:what"}}}, {kF0}),
              HasSubstr("csv: schema: 'F0:what'"));
  EXPECT_THAT(MakeParserError({"multislot", {{"single", "F9"}}}, {kF0}),
              HasSubstr("F9 is not an id input"));
}

// The documented defaults are those that a parser uses.
TEST(MakeParserTest, DefaultsThatAreSpelledOutChangeNothing) {
  const std::vector<InputSpec> click = {kF0, kLabel};
  for (const char* format : {"criteo", "libffm", "libsvm", "multislot", "corpus"}) {
    const std::string name = format;
    const std::vector<InputSpec> inputs = name == "criteo"   ? CriteoInputs()
                                          : name == "corpus" ? std::vector<InputSpec>{kF0}
                                                             : click;
    const ParserSpec spec{.format = name};
    EXPECT_EQ(IdentityOf(WithDefaults(spec), inputs), IdentityOf(spec, inputs));
  }
  EXPECT_EQ(WithDefaults({.format = "libsvm"}).params.size(), 2u);
  EXPECT_EQ(WithDefaults({.format = "none"}).params.size(), 0u);
}

TEST(MakeParserTest, FormatsAreListedInOrderWithHelp) {
  std::string last;
  for (const ParserFormat& format : ParserFormats()) {
    EXPECT_LT(last, format.name);
    EXPECT_FALSE(format.help.empty());
    for (const ParserFormat::Param& param : format.params) EXPECT_FALSE(param.help.empty());
    last = format.name;
  }
  EXPECT_EQ(ParserFormats().size(), 7u);
}

}  // namespace
}  // namespace flotilla
