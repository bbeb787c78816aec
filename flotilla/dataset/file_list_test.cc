#include "flotilla/dataset/file_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "flotilla/base/temp_dir_testing.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const SchemeCommands kSchemes = {{"hdfs", "hadoop fs -cat"}};

StatusOr<std::vector<std::string>> Expand(std::vector<std::string> names) {
  return ExpandFiles(names, kSchemes);
}

std::string ExpandError(std::vector<std::string> names) {
  return std::string(Message(Expand(std::move(names)).status()));
}

TEST(FileListTest, DirectoryGivesItsFilesSortedWithoutHiddenOnesAndDirectories) {
  TempDir dir;
  const std::string b = dir.Write("part-10", ""), a = dir.Write("part-1", "");
  dir.Write(".hidden", "");
  dir.Write("_SUCCESS", "");
  std::filesystem::create_directory(dir.path() + "/below");
  const auto files = Expand({dir.path()});
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(*files, ElementsAre(a, b));
}

TEST(FileListTest, NamesKeepTheirOrder) {
  TempDir dir;
  const std::string a = dir.Write("a", ""), b = dir.Write("b", ""), c = dir.Write("c", "");
  const auto files = Expand({c, "-", "hdfs://host/x", b, a});
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(*files, ElementsAre(c, "-", "hdfs://host/x", b, a));
  const auto listed = Expand({"@" + dir.Write("list.txt", c + "\n" + a + "\n"), b});
  ASSERT_TRUE(listed.ok()) << listed.status();
  EXPECT_THAT(*listed, ElementsAre(c, a, b));
}

TEST(FileListTest, DigitsAreSortedByTheirNumbers) {
  TempDir dir;
  std::vector<std::string> sorted;
  for (const char* name : {"day-9.csv", "day-10.csv", "day-010b.csv", "day-100.csv", "dayb"}) {
    sorted.push_back(dir.Write(name, ""));
  }
  const auto directory = Expand({dir.path()}), pattern = Expand({dir.path() + "/day*"});
  ASSERT_TRUE(directory.ok()) << directory.status();
  EXPECT_EQ(*directory, sorted);
  ASSERT_TRUE(pattern.ok()) << pattern.status();
  EXPECT_EQ(*pattern, sorted);
}

TEST(FileListTest, PatternGivesTheFilesThatMatch) {
  TempDir dir;
  const std::string a = dir.Write("part-1.gz", ""), b = dir.Write("part-2.gz", "");
  dir.Write("other", "");
  std::filesystem::create_directory(dir.path() + "/part-3.gz");
  const auto files = Expand({dir.path() + "/part-?.gz"});
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(*files, ElementsAre(a, b));
}

TEST(FileListTest, FileWhoseNameLooksLikeAPatternIsItself) {
  TempDir dir;
  const std::string odd = dir.Write("a[1]", "");
  const auto files = Expand({odd});
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(*files, ElementsAre(odd));
}

TEST(FileListTest, ListNamesFilesDirectoriesAndPatterns) {
  TempDir dir;
  const std::string a = dir.Write("a", "");
  std::filesystem::create_directory(dir.path() + "/d");
  const std::string in_d = dir.Write("d/x", "");
  const std::string list =
      dir.Write("list.txt", fmt::format("# train\n{}\r\n\n{}/d\nhdfs:/y", a, dir.path()));
  const auto files = Expand({"@" + list});
  ASSERT_TRUE(files.ok()) << files.status();
  EXPECT_THAT(*files, ElementsAre(a, in_d, "hdfs:/y"));
}

TEST(FileListTest, ErrorsNameWhatTheyConcern) {
  TempDir dir;
  const std::string empty = dir.path() + "/empty", list = dir.Write("list", "\n/no/such\n");
  std::filesystem::create_directory(empty);
  EXPECT_EQ(ExpandError({empty}), empty + ": the directory has no files");
  EXPECT_EQ(ExpandError({empty + "/*.txt"}), empty + "/*.txt: no file matches");
  EXPECT_EQ(ExpandError({"/no/such/file"}), "/no/such/file: no such file");
  EXPECT_EQ(ExpandError({"@" + list}), list + ":2: /no/such: no such file");
  EXPECT_EQ(ExpandError({"@" + dir.path() + "/none"}),
            dir.path() + "/none: cannot read the list of files");
  EXPECT_EQ(ExpandError({"@" + dir.Write("nested", "@x\n")}),
            dir.path() + "/nested:1: @x: a list cannot name another list");
  EXPECT_EQ(ExpandError({"@" + dir.Write("blank", "\n")}),
            dir.path() + "/blank: the list names no files");
  EXPECT_EQ(ExpandError({"s3://bucket/x"}),
            "s3://bucket/x: no command is configured that reads 's3:' paths");
  EXPECT_EQ(ExpandError({}), "no files given");
}

TEST(FileListTest, SchemeIsWhatStandsBeforeAColon) {
  EXPECT_EQ(SchemeOf("hdfs:/a/b"), "hdfs");
  EXPECT_EQ(SchemeOf("s3+x://a:b"), "s3+x");
  EXPECT_EQ(SchemeOf("/a:b"), "");
  EXPECT_EQ(SchemeOf("C:/a"), "");
  EXPECT_EQ(SchemeOf("plain"), "");
}

TEST(FileListTest, SharesAreContiguousAndTheFirstHaveOneMore) {
  std::vector<std::string> files;
  for (int i = 0; i < 11; ++i) files.push_back(fmt::format("{:02}", i));
  EXPECT_THAT(SplitFiles(files, 4, 0), ElementsAre("00", "01", "02"));
  EXPECT_THAT(SplitFiles(files, 4, 2), ElementsAre("06", "07", "08"));
  EXPECT_THAT(SplitFiles(files, 4, 3), ElementsAre("09", "10"));
  for (int count = 1; count < 14; ++count) {
    std::vector<std::string> joined;
    for (int i = 0; i < count; ++i) {
      for (const std::string& file : SplitFiles(files, count, i)) joined.push_back(file);
    }
    EXPECT_EQ(joined, files);
  }
}

}  // namespace
}  // namespace flotilla
