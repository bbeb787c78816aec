#include "flotilla/base/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "flotilla/testing/temp_dir.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

TEST(OutputFileTest, AppearsWholeWhenItIsFinished) {
  const TempDir dir;
  const std::string path = dir.Write("file", "old");
  {
    StatusOr<OutputFile> file = OutputFile::Create(path);
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE(file->Write("new ").ok());
    ASSERT_TRUE(file->Write(std::string(3 << 20, 'x')).ok());
    EXPECT_EQ(ContentOf(path), "old");
    ASSERT_TRUE(file->Finish().ok());
  }
  EXPECT_EQ(ContentOf(path), "new " + std::string(3 << 20, 'x'));
  EXPECT_FALSE(std::filesystem::exists(path + ".tmp"));
}

TEST(OutputFileTest, WithoutFinishNothingIsLeftBehind) {
  const TempDir dir;
  const std::string path = dir.path() + "/file";
  {
    StatusOr<OutputFile> file = OutputFile::Create(path);
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file->Write("half").ok());
  }
  EXPECT_TRUE(std::filesystem::is_empty(dir.path()));
}

TEST(OutputFileTest, ErrorsNameTheFileAndTheCause) {
  const TempDir dir;
  const StatusOr<OutputFile> file = OutputFile::Create(dir.path() + "/none/file");
  EXPECT_THAT(std::string(Message(file.status())),
              HasSubstr("none/file: cannot be made: No such file or directory"));
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "skipped: no /dev/full";
  std::filesystem::create_symlink("/dev/full", dir.path() + "/full.tmp");
  StatusOr<OutputFile> full = OutputFile::Create(dir.path() + "/full");
  ASSERT_TRUE(full.ok());
  ASSERT_TRUE(full->Write("x").ok());
  EXPECT_THAT(std::string(Message(full->Finish())), HasSubstr("No space left on device"));
}

}  // namespace
}  // namespace flotilla
