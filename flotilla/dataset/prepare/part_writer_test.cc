#include "flotilla/dataset/prepare/part_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/base/text_file.h"

namespace flotilla {
namespace {

TEST(PartWriterTest, EveryFileButTheLastHasThatManyLines) {
  const TempDir dir;
  PartFileWriter writer(dir.path(), 3);
  ASSERT_TRUE(writer.Append("a\nb\n", 2).ok());
  ASSERT_TRUE(writer.Append("", 0).ok());
  ASSERT_TRUE(writer.Append("c\nd\ne\nf\ng\n", 5).ok());
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_EQ(writer.lines(), 7);
  EXPECT_EQ(*ReadWholeFile(dir.path() + "/part-000000", 99), "a\nb\nc\n");
  EXPECT_EQ(*ReadWholeFile(dir.path() + "/part-000001", 99), "d\ne\nf\n");
  EXPECT_EQ(*ReadWholeFile(dir.path() + "/part-000002", 99), "g\n");
  EXPECT_FALSE(std::filesystem::exists(dir.path() + "/part-000003"));
}

TEST(PartWriterTest, WithoutLinesThereIsNoFile) {
  const TempDir dir;
  PartFileWriter writer(dir.path(), 3);
  EXPECT_TRUE(writer.Finish().ok());
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(PartWriterTest, ErrorsNameTheFile) {
  const TempDir dir;
  PartFileWriter writer(dir.path() + "/none", 3);
  EXPECT_THAT(Message(writer.Append("a\n", 1)),
              ::testing::StartsWith(dir.path() + "/none/part-000000: "));
}

}  // namespace
}  // namespace flotilla
