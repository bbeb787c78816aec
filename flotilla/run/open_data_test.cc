#include "flotilla/run/open_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/models/ctr_dnn.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<InputSpec>& IdAndLabel() {
  static const std::vector<InputSpec> inputs = {
      {.name = "id", .kind = InputKind::kIds, .width = 1},
      {.name = "label", .kind = InputKind::kLabel, .width = 1}};
  return inputs;
}

TEST(FormatOfTest, AFlagComesBeforeTheModelsOwnAndThatBeforeWhatFitsTheInputs) {
  const Model criteo = CtrDnn({});
  EXPECT_EQ(FormatOf({}, criteo.graph.def().inputs, {}).format, "criteo");
  EXPECT_EQ(FormatOf({}, IdAndLabel(), {}).format, "multislot");
  const ParserSpec own{.format = "libsvm"};
  EXPECT_EQ(FormatOf(own, IdAndLabel(), {}).format, "libsvm");
  EXPECT_EQ(FormatOf(own, IdAndLabel(), {.format = {.format = "csv"}}).format, "csv");
}

TEST(FormatOfTest, ParametersOfAnotherFormatAreLeftOut) {
  const ParserSpec own{.format = "criteo", .params = {{"hash_dim", "5"}, {"numeric", "log"}}};
  DataOptions options;
  options.format.params = {{"hash_dim", "7"}};
  options.pipe_command = "cat";
  const ParserSpec changed = FormatOf(own, IdAndLabel(), options);
  EXPECT_EQ(changed.params.at("hash_dim"), "7");
  EXPECT_EQ(changed.params.at("numeric"), "log");
  EXPECT_EQ(changed.pipe_command, "cat");
  options.format = {.format = "multislot"};
  EXPECT_THAT(FormatOf(own, IdAndLabel(), options).params, IsEmpty());
}

// The text of a parameter and the file that has it.
TEST(FormatOfTest, AFileTakesThePlaceOfItsText) {
  const ParserSpec own{.format = "criteo", .params = {{"statistics", "{}"}}};
  DataOptions options;
  options.format.params = {{"statistics_file", "s.json"}};
  const auto params = FormatOf(own, IdAndLabel(), options).params;
  EXPECT_FALSE(params.contains("statistics"));
  EXPECT_EQ(params.at("statistics_file"), "s.json");
}

std::string Difference(const ParserSpec& trained, const ParserSpec& given) {
  return std::string(Message(CheckSameRows(trained, given, CtrDnn({}).graph.def().inputs)));
}

TEST(CheckSameRowsTest, TheFirstDifferenceIsNamedWithTheRemedy) {
  const ParserSpec plain{.format = "criteo", .pipe_command = ""};
  const ParserSpec piped{.format = "criteo", .pipe_command = "sort -n"};
  EXPECT_THAT(Difference(plain, plain), IsEmpty());
  EXPECT_THAT(Difference(piped, plain), HasSubstr("add --pipe_command 'sort -n'"));
  EXPECT_THAT(Difference(plain, piped), HasSubstr("leave out --pipe_command 'sort -n'"));
  EXPECT_THAT(Difference(piped, {.format = "criteo", .pipe_command = "uniq"}),
              HasSubstr("of the pipe command 'sort -n', --pipe_command is"));
  EXPECT_THAT(Difference(plain, {.format = "csv", .pipe_command = ""}),
              HasSubstr("of the format criteo, --format is csv"));
  EXPECT_THAT(
      Difference(plain, {.format = "criteo", .params = {{"hash_dim", "9"}}, .pipe_command = ""}),
      HasSubstr("criteo rows with hash_dim 1000001, here it is 9"));
  // Given or not, the default is the same.
  EXPECT_THAT(
      Difference(plain, {.format = "criteo", .params = {{"numeric", "seeds"}}, .pipe_command = ""}),
      IsEmpty());
}

TEST(CheckSameRowsTest, AModelThatDoesNotTellHowItsRowsWereMadeFitsAny) {
  EXPECT_THAT(Difference({.format = "csv"}, {.format = "criteo", .pipe_command = "sort"}),
              IsEmpty());
}

TEST(OpenDataTest, ATrainerWithoutAFileHasNoRows) {
  const SteadyClock clock;
  for (const bool in_memory : {true, false}) {
    DataOptions options;
    options.in_memory = in_memory;
    auto parser = MakeModelParser({.format = "multislot"}, IdAndLabel(), options);
    ASSERT_TRUE(parser.ok()) << parser.status();
    std::string log;
    auto data = OpenData({.flag = "--data", .batch = {.allow_empty = true}}, options, *parser,
                         clock, [&](std::string_view line) { log += line; });
    ASSERT_TRUE(data.ok()) << data.status();
    EXPECT_THAT(log, HasSubstr("--data: no file for this trainer"));
    ASSERT_TRUE(data->dataset->StartEpoch(0).ok());
    Batch batch;
    const auto more = data->dataset->Next(0, &batch);
    ASSERT_TRUE(more.ok()) << more.status();
    EXPECT_FALSE(*more);
  }
}

TEST(OpenDataTest, TestRowsComeInTheOrderOfTheFileAndAreAllThere) {
  const TempDir dir;
  std::string text;
  for (int i = 0; i < 25; ++i) text += fmt::format("1 {} 1 {}\n", i, i % 2);
  const SteadyClock clock;
  DataOptions options;
  options.drop_last = true;
  auto parser = *MakeModelParser({.format = "multislot"}, IdAndLabel(), options);
  OpenDataOptions what{.flag = "--test",
                       .files = {{.path = dir.Write("rows", text)}},
                       .for_training = false,
                       .batch = {.batch_size = 10}};
  const auto ids = [&] {
    std::vector<uint64_t> all;
    auto data = OpenData(what, options, parser, clock, [](std::string_view) {});
    EXPECT_TRUE(data.ok()) << data.status();
    EXPECT_TRUE(data->dataset->StartEpoch(1).ok());
    for (Batch batch; *data->dataset->Next(0, &batch);) {
      const auto& read = batch.fields[0].ids;
      all.insert(all.end(), read.ids.begin(), read.ids.end());
    }
    return all;
  };
  const std::vector<uint64_t> tested = ids();
  ASSERT_EQ(tested.size(), 25u);
  EXPECT_TRUE(std::is_sorted(tested.begin(), tested.end()));
  what.for_training = true;
  const std::vector<uint64_t> trained = ids();
  EXPECT_EQ(trained.size(), 20u) << "drop_last";
  EXPECT_FALSE(std::is_sorted(trained.begin(), trained.end())) << "shuffle";
}

TEST(FindFilesTest, AParquetFileIsNoText) {
  const TempDir dir;
  const std::string parquet = dir.Write("rows.parquet", std::string("PAR1\x15\0PAR1", 10));
  const std::string text = dir.Write("rows.txt", "PAR1 is a word\n");
  const auto refused = FindFiles("--data", std::vector<std::string>{text, parquet}, {});
  EXPECT_THAT(std::string(Message(refused.status())),
              HasSubstr("--data: " + parquet + ": a Parquet file"));
  EXPECT_TRUE(FindFiles("--data", std::vector<std::string>{text}, {}).ok());
  EXPECT_TRUE(
      FindFiles("--data", std::vector<std::string>{parquet}, {.pipe_command = "./read"}).ok());
}

}  // namespace
}  // namespace flotilla
