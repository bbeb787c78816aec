// The bytes of the format do not change by accident: a model directory that is kept with the tests
// loads, and what is written today is the same, byte for byte. tests/checkpoint_reference.py reads
// the same directory with Python. When a new version of the format comes, its model is added; those
// of the versions before stay and must load for ever. To write one:
//   checkpoint_test --gtest_also_run_disabled_tests --gtest_filter='*WriteTheModel'
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/checkpoint/checkpoint_testing.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;

const std::string kGolden = fmt::format("{}/model_v{}", FLOTILLA_TESTDATA, kModelFormatVersion);

TestModel GoldenModel() { return {.version = 1, .wide_rows = 8, .writers = 2}; }

std::map<std::string, std::string> FilesOf(const std::string& dir) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(dir)) {
    std::ifstream file(entry.path(), std::ios::binary);
    files[entry.path().filename()] = {std::istreambuf_iterator<char>(file),
                                      std::istreambuf_iterator<char>()};
  }
  return files;
}

TEST(GoldenModelTest, AModelOfAnEarlierBuildLoads) {
  const auto content = ReadModel(kGolden);
  ASSERT_TRUE(content.ok()) << content.status();
  EXPECT_EQ(*content, GoldenModel().Content());
}

TEST(GoldenModelTest, TheSameModelIsTheSameBytes) {
  TempDir temp;
  ASSERT_TRUE(GoldenModel().Save(temp.path() + "/model").ok());
  const auto now = FilesOf(temp.path() + "/model");
  const auto golden = FilesOf(kGolden);
  ASSERT_EQ(now.size(), golden.size());
  for (const auto& [name, bytes] : golden) {
    ASSERT_TRUE(now.contains(name)) << name;
    EXPECT_TRUE(now.at(name) == bytes) << name << " differs: does the version have to rise?";
  }
}

TEST(GoldenModelTest, DISABLED_WriteTheModel) { EXPECT_TRUE(GoldenModel().Save(kGolden).ok()); }

}  // namespace
}  // namespace flotilla
