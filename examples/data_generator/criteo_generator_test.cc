// Runs the example as a pipe command: its rows must equal those of the parser of raw lines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/dataset/criteo_parser.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/dataset/multislot_parser.h"
#include "flotilla/dataset/prepare/synth_criteo.h"

namespace flotilla {
namespace {

StatusOr<std::unique_ptr<InMemoryDataset>> LoadThroughGenerator(const std::string& path) {
  FL_ASSIGN_OR_RETURN(std::shared_ptr<const Parser> parser,
                      MultislotParser::Make(CriteoInputs(), {.all_single = true}));
  StreamOptions options;
  options.reader.source.pipe_command = CRITEO_GENERATOR;
  return InMemoryDataset::Load({path}, parser, options);
}

TEST(CriteoGeneratorTest, RowsOfThePipeAreTheRowsOfTheRawLines) {
  TempDir dir;
  std::string text;
  SynthCriteo::Make({})->Rows(0, 2000, &text);
  const std::string path = dir.Write("a", text);
  StatusOr<std::unique_ptr<CriteoParser>> parser = CriteoParser::Make(CriteoInputs(), {});
  ASSERT_TRUE(parser.ok()) << parser.status();
  auto direct = InMemoryDataset::Load({path}, std::shared_ptr(*std::move(parser)), {});
  auto piped = LoadThroughGenerator(path);
  ASSERT_TRUE(direct.ok()) << direct.status();
  ASSERT_TRUE(piped.ok()) << piped.status();
  const Batch a = (*direct)->CopyRows(), b = (*piped)->CopyRows();
  ASSERT_EQ(a.rows, 2000);
  ASSERT_EQ(b.rows, 2000);
  for (size_t f = 0; f < a.fields.size(); ++f) {
    EXPECT_EQ(a.fields[f].values, b.fields[f].values) << f;
    EXPECT_EQ(a.fields[f].ids.ids, b.fields[f].ids.ids) << f;
  }
}

TEST(CriteoGeneratorTest, BadLineFailsTheRunWithTheGeneratorsReason) {
  TempDir dir;
  const Status status = LoadThroughGenerator(dir.Write("a", "1\t2\t3\n")).status();
  EXPECT_THAT(std::string(Message(status)),
              ::testing::AllOf(::testing::HasSubstr("exited with code 1"),
                               ::testing::HasSubstr("line 1: 3 columns, expected 40")));
}

}  // namespace
}  // namespace flotilla
