#include "flotilla/base/output_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstdio>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>

#include "flotilla/base/temp_dir_testing.h"

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

TEST(OutputFileTest, PiecesMayBeWrittenInAnyOrder) {
  const TempDir dir;
  const std::string path = dir.path() + "/file";
  {
    StatusOr<OutputFile> file = OutputFile::Create(path);
    ASSERT_TRUE(file.ok()) << file.status();
    ASSERT_TRUE(file->Write("ab").ok());
    ASSERT_TRUE(file->WriteAt(4, "ef").ok());
    ASSERT_TRUE(file->WriteAt(2, "c").ok());
    ASSERT_TRUE(file->Write("d").ok());
    ASSERT_TRUE(file->Finish().ok());
  }
  EXPECT_EQ(ContentOf(path), "abcdef");
}

TEST(OutputFileTest, OfSharedWritersTheLastToFinishWins) {
  const TempDir dir;
  const std::string path = dir.path() + "/file";
  {
    StatusOr<OutputFile> first = OutputFile::Create(path, {.sync = false, .shared = true});
    StatusOr<OutputFile> second = OutputFile::Create(path, {.sync = false, .shared = true});
    ASSERT_TRUE(first.ok() && second.ok());
    ASSERT_TRUE(first->Write("first").ok() && second->Write("second").ok());
    ASSERT_TRUE(second->Finish().ok());
    EXPECT_EQ(ContentOf(path), "second");
    ASSERT_TRUE(first->Finish().ok());
  }
  EXPECT_EQ(ContentOf(path), "first");
  const std::filesystem::directory_iterator files(dir.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

TEST(OutputFileTest, ALinkStaysAndItsTargetIsReplaced) {
  const TempDir dir;
  const std::string target = dir.Write("target", "old");
  const std::string link = dir.path() + "/link";
  std::filesystem::create_symlink("target", link);
  ASSERT_TRUE(WriteFile(link, "new").ok());
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(ContentOf(target), "new");
}

TEST(OutputFileTest, ANamedPipeIsWrittenAndStaysAPipe) {
  const TempDir dir;
  const std::string pipe = dir.path() + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::string read;
  std::thread reader([&] { read = ContentOf(pipe); });
  const Status written = WriteFile(pipe, "through");
  reader.join();
  EXPECT_TRUE(written.ok()) << written;
  EXPECT_EQ(read, "through");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
}

// /dev/stdout is such a link. It must not be replaced, even when it points to a regular file.
TEST(OutputFileTest, AnOpenDescriptorIsWrittenInPlace) {
  const TempDir dir;
  const std::string path = dir.Write("file", "old");
  std::FILE* const open = std::fopen(path.c_str(), "r+");
  ASSERT_NE(open, nullptr);
  const std::string link = dir.path() + "/stdout";
  std::filesystem::create_symlink("/proc/self/fd/" + std::to_string(fileno(open)), link);
  EXPECT_TRUE(WriteFile(link, "new").ok());
  EXPECT_TRUE(WriteFile("/proc/self/fd/" + std::to_string(fileno(open)), "newer").ok());
  std::string read(5, ' ');
  EXPECT_EQ(std::fread(read.data(), 1, 5, open), 5);
  std::fclose(open);
  EXPECT_EQ(read, "newer");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
}

TEST(OutputFileTest, ErrorsNameTheFileAndTheCause) {
  const TempDir dir;
  const StatusOr<OutputFile> file = OutputFile::Create(dir.path() + "/none/file");
  EXPECT_THAT(std::string(Message(file.status())),
              HasSubstr("none/file: cannot be written: No such file or directory"));
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "skipped: no /dev/full";
  std::filesystem::create_symlink("/dev/full", dir.path() + "/full.tmp");
  StatusOr<OutputFile> full = OutputFile::Create(dir.path() + "/full");
  ASSERT_TRUE(full.ok());
  ASSERT_TRUE(full->Write("x").ok());
  EXPECT_THAT(std::string(Message(full->Finish())), HasSubstr("No space left on device"));
}

}  // namespace
}  // namespace flotilla
