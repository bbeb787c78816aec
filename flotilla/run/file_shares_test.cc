#include "flotilla/run/file_shares.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "flotilla/base/temp_dir_testing.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

class FileSharesTest : public ::testing::Test {
 protected:
  const TempDir dir_;
  const std::vector<std::string> one_ = {dir_.Write("a", "1234")};
  const std::vector<std::string> two_ = {dir_.Write("a", "1234"), dir_.Write("b", "56")};
};

TEST_F(FileSharesTest, TheSameFilesMayBeSplitAndOthersMayNot) {
  const std::string same = DescribeFiles(two_);
  EXPECT_EQ(SplitWarning("--data", std::vector<std::string>{same, same}, true), "");
  const std::string warning =
      SplitWarning("--data", std::vector<std::string>{same, same, DescribeFiles(one_)}, true);
  EXPECT_THAT(warning, HasSubstr("trainer 2"));
  EXPECT_THAT(warning, HasSubstr("1 file of 4 bytes"));
  EXPECT_THAT(warning, HasSubstr("2 files of 6 bytes"));
  EXPECT_THAT(warning, HasSubstr("--data_split none"));
}

TEST_F(FileSharesTest, AnotherOrderIsNamed) {
  const std::vector<std::string> reversed(two_.rbegin(), two_.rend());
  EXPECT_THAT(
      SplitWarning("--data", std::vector<std::string>{DescribeFiles(two_), DescribeFiles(reversed)},
                   true),
      HasSubstr("trainer 1 has the 2 files of 6 bytes of trainer 0 in another order"));
}

TEST_F(FileSharesTest, AFileOfTheSameNameAndAnotherSizeIsAnotherFile) {
  const std::string before = DescribeFiles(one_);
  dir_.Write("a", "12345");
  EXPECT_NE(before, DescribeFiles(one_));
}

TEST_F(FileSharesTest, FilesThatAreNotSplitShouldDiffer) {
  const std::string same = DescribeFiles(two_), other = DescribeFiles(one_);
  EXPECT_EQ(SplitWarning("--data", std::vector<std::string>{same, other}, false), "");
  EXPECT_EQ(SplitWarning("--data", std::vector<std::string>{same}, false), "");
  EXPECT_THAT(SplitWarning("--data", std::vector<std::string>{same, same}, false),
              HasSubstr("every row is trained on 2 times"));
}

TEST_F(FileSharesTest, SmallFilesAreNotWorthMoreSharesThanTrainers) {
  EXPECT_EQ(CountShares(one_, {.trainers = 3}), 3);
  EXPECT_EQ(CountShares(one_, {.trainers = 3, .by_size = false}), 3);
  EXPECT_EQ(CountShares(one_, {.trainers = 3, .per_trainer = 1}), 3);
  EXPECT_EQ(CountShares(one_, {.trainers = 3, .per_trainer = 5}), 15);
  EXPECT_EQ(CountShares(two_, {.trainers = 1, .by_size = false, .per_trainer = 5}), 2);
}

TEST_F(FileSharesTest, LargeFilesMakeSharesOfManyBatches) {
  const std::string large = dir_.Write("large", "");
  std::filesystem::resize_file(large, 100 << 20);
  const std::vector<std::string> files = {large};
  EXPECT_EQ(CountShares(files, {.trainers = 2}), 25);
  EXPECT_EQ(CountShares(files, {.trainers = 2, .batch_size = 10'000}), 2);
  EXPECT_EQ(CountShares(files, {.trainers = 2, .by_size = false}), 2);
  std::filesystem::resize_file(large, int64_t{4} << 30);
  EXPECT_EQ(CountShares(files, {.trainers = 2}), 64);
}

TEST_F(FileSharesTest, AFileOfUnknownSizeIsAShare) {
  std::vector<std::string> files;
  for (int i = 0; i < 10; ++i) files.push_back(fmt::format("hdfs:/rows/part-{}", i));
  EXPECT_EQ(CountShares(files, {.trainers = 2, .by_size = false}), 10);
}

}  // namespace
}  // namespace flotilla
