#include "flotilla/base/staged_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "flotilla/base/temp_dir_testing.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

void WriteSomeFile(const std::string& path) { std::ofstream(path) << "x"; }

TEST(StagedDirTest, ContentAppearsWhenItIsPublished) {
  const TempDir dir;
  const std::string out = dir.path() + "/new/out";
  {
    auto staged = StagedDir::Make(out);
    ASSERT_TRUE(staged.ok()) << staged.status();
    fs::create_directory((*staged)->path() + "/train");
    WriteSomeFile((*staged)->path() + "/train/a");
    WriteSomeFile((*staged)->path() + "/last.json");
    EXPECT_FALSE(fs::exists(out + "/train"));
    const Status status = (*staged)->Publish();
    ASSERT_TRUE(status.ok()) << status;
  }
  EXPECT_TRUE(fs::exists(out + "/train/a"));
  EXPECT_TRUE(fs::exists(out + "/last.json"));
  EXPECT_FALSE(fs::exists(out + "/.partial"));
}

TEST(StagedDirTest, WhatIsNotPublishedIsRemoved) {
  const TempDir dir;
  {
    auto staged = StagedDir::Make(dir.path());
    ASSERT_TRUE(staged.ok()) << staged.status();
    WriteSomeFile((*staged)->path() + "/a");
  }
  EXPECT_TRUE(fs::is_empty(dir.path()));
}

TEST(StagedDirTest, DirectoryWithFilesOrAnotherRunIsRefused) {
  const TempDir dir;
  auto first = StagedDir::Make(dir.path());
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_THAT(Message(StagedDir::Make(dir.path()).status()),
              HasSubstr("/.partial exists: another run"));
  EXPECT_TRUE(fs::exists((*first)->path()));  // the rejected run removes nothing
  const std::string file = dir.Write("file", "x");
  EXPECT_THAT(Message(StagedDir::Make(dir.path()).status()), HasSubstr("already has files"));
  EXPECT_THAT(Message(StagedDir::Make(file + "/out").status()), HasSubstr(file + "/out"));
}

}  // namespace
}  // namespace flotilla
