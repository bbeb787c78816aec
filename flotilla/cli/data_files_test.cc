#include "flotilla/cli/data_files.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "flotilla/testing/temp_dir.h"

namespace flotilla {
namespace {

TEST(DataFilesTest, DirectoriesBecomeTheirSortedFilesAndTheOrderOfPathsIsKept) {
  const TempDir dir;
  std::filesystem::create_directory(dir.path() + "/many");
  std::filesystem::create_directory(dir.path() + "/many/below");
  for (const char* name : {"part-2", "part-0", "part-1", ".hidden"}) {
    dir.Write("many/" + std::string(name), "x");
  }
  const std::string one = dir.Write("one", "x");
  const std::string many = dir.path() + "/many";
  const std::vector<std::string> paths = {one, many};
  const auto files = ExpandPaths("--data", paths);
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_EQ(*files,
            (std::vector<std::string>{one, many + "/part-0", many + "/part-1", many + "/part-2"}));
}

TEST(DataFilesTest, ErrorsNameTheFlagAndThePath) {
  const TempDir dir;
  const std::vector<std::string> missing = {dir.path() + "/missing"};
  EXPECT_EQ(Message(ExpandPaths("--test", missing).status()),
            "--test " + missing[0] + ": no such file or directory");
  const std::vector<std::string> empty = {dir.path()};
  EXPECT_EQ(Message(ExpandPaths("--data", empty).status()),
            "--data " + empty[0] + ": the directory has no files");
}

}  // namespace
}  // namespace flotilla
