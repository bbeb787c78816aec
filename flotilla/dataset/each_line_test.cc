#include "flotilla/dataset/each_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/dataset/line_reader.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ReadEachLineTest, GivesEveryLineInOrder) {
  const TempDir dir;
  std::vector<std::string> seen;
  const auto keep = [&](std::string_view line) {
    seen.emplace_back(line);
    return absl::OkStatus();
  };
  ASSERT_TRUE(ReadEachLine(dir.Write("a", "one\n\nthree\r\nfour"), keep).ok());
  EXPECT_THAT(seen, ElementsAre("one", "", "three", "four"));
  seen.clear();
  ASSERT_TRUE(ReadEachLine(dir.Write("empty", ""), keep).ok());
  EXPECT_THAT(seen, ElementsAre());
}

TEST(ReadEachLineTest, ManyLinesKeepTheirNumbers) {
  const TempDir dir;
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += "x\n";
  const std::string path = dir.Write("a", text + "bad\nx\n");
  int64_t lines = 0;
  const Status status = ReadEachLine(path, [&](std::string_view line) -> Status {
    ++lines;
    return line == "x" ? absl::OkStatus() : InvalidArgument("expected x, found {}", line);
  });
  EXPECT_EQ(Message(status), path + ":10001: expected x, found bad");
  EXPECT_EQ(lines, 10'001) << "nothing is read behind an error";
}

TEST(ReadEachLineTest, MissingFilesAndLinesThatAreTooLongAreErrors) {
  const TempDir dir;
  const auto any = [](std::string_view) { return absl::OkStatus(); };
  EXPECT_THAT(std::string(Message(ReadEachLine(dir.path() + "/none", any))),
              HasSubstr("/none: no such file"));
  const std::string huge(LineReaderOptions().max_line_bytes + 1, 'x');
  const std::string path = dir.Write("a", "x\n" + huge + "\n");
  EXPECT_THAT(std::string(Message(ReadEachLine(path, any))),
              HasSubstr("/a:2: the line is longer than 16777216 bytes"));
}

}  // namespace
}  // namespace flotilla
