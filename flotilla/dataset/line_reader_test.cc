#include "flotilla/dataset/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/base/rng.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Every line of the reader as "file:line:text", taken `count` at a time.
StatusOr<std::vector<std::string>> ReadAll(LineReader& reader, int64_t count) {
  std::vector<std::string> all;
  TextLines lines;
  while (true) {
    FL_ASSIGN_OR_RETURN(const int64_t taken, reader.Take(count, &lines));
    LineCursor cursor(lines);
    std::string_view line;
    int64_t seen = 0;
    while (cursor.Next(&line)) {
      all.push_back(fmt::format("{}:{}:{}", cursor.file(), cursor.line_number(), line));
      ++seen;
    }
    EXPECT_EQ(seen, taken);
    if (taken < count) return all;
  }
}

StatusOr<std::vector<std::string>> ReadFiles(std::vector<std::string> files, int64_t count) {
  LineReader reader(std::move(files));
  return ReadAll(reader, count);
}

TEST(LineReaderTest, LinesOfSeveralFilesComeInOrderWithTheirPlaces) {
  TempDir dir;
  const std::string a = dir.Write("a", "one\ntwo\n"), b = dir.Write("b", "three\n\nfive\n");
  for (int64_t count = 1; count <= 7; ++count) {
    StatusOr<std::vector<std::string>> lines = ReadFiles({a, b}, count);
    ASSERT_TRUE(lines.ok()) << lines.status();
    EXPECT_THAT(*lines, ElementsAre("0:1:one", "0:2:two", "1:1:three", "1:2:", "1:3:five"));
  }
}

TEST(LineReaderTest, LastLineWithoutNewlineIsALine) {
  TempDir dir;
  StatusOr<std::vector<std::string>> lines =
      ReadFiles({dir.Write("a", "x\ny"), dir.Write("b", "z")}, 2);
  ASSERT_TRUE(lines.ok()) << lines.status();
  EXPECT_THAT(*lines, ElementsAre("0:1:x", "0:2:y", "1:1:z"));
}

TEST(LineReaderTest, CarriageReturnBeforeTheNewlineIsNotPartOfTheLine) {
  TempDir dir;
  StatusOr<std::vector<std::string>> lines = ReadFiles({dir.Write("a", "x\r\n\r\ny\rz\r\nw\r")}, 9);
  ASSERT_TRUE(lines.ok()) << lines.status();
  EXPECT_THAT(*lines, ElementsAre("0:1:x", "0:2:", "0:3:y\rz", "0:4:w"));
}

TEST(LineReaderTest, EmptyFilesBetweenOthersAreNoLines) {
  TempDir dir;
  const std::string none = dir.Write("e", ""), some = dir.Write("s", "x\n");
  StatusOr<std::vector<std::string>> lines = ReadFiles({none, some, none, some, none}, 10);
  ASSERT_TRUE(lines.ok()) << lines.status();
  EXPECT_THAT(*lines, ElementsAre("1:1:x", "3:1:x"));
}

TEST(LineReaderTest, LinesAreTheSameForEveryBufferSize) {
  TempDir dir;
  const RngKey key(5);
  std::string text;
  std::vector<std::string> expected;
  for (int i = 0; i < 300; ++i) {
    const std::string line(key.Below(i, 40), static_cast<char>('a' + i % 26));
    expected.push_back(fmt::format("0:{}:{}", i + 1, line));
    text += line + "\n";
  }
  const std::string path = dir.Write("a", text);
  for (size_t buffer : {1, 2, 3, 17, 64, 1000, 100000}) {
    LineReader reader({path}, {.buffer_bytes = buffer});
    StatusOr<std::vector<std::string>> lines = ReadAll(reader, 7);
    ASSERT_TRUE(lines.ok()) << lines.status();
    EXPECT_EQ(*lines, expected) << "buffer " << buffer;
  }
}

TEST(LineReaderTest, RewindStartsAgainAlsoInTheMiddleOfAFile) {
  TempDir dir;
  LineReader reader({dir.Write("a", "x\ny\nz\n")});
  TextLines lines;
  ASSERT_TRUE(reader.Take(2, &lines).ok());
  reader.Rewind();
  StatusOr<std::vector<std::string>> all = ReadAll(reader, 2);
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_THAT(*all, ElementsAre("0:1:x", "0:2:y", "0:3:z"));
}

TEST(LineReaderTest, MissingFileIsAnErrorThatStays) {
  TempDir dir;
  LineReader reader({dir.Write("a", "x\n"), dir.path() + "/none"});
  TextLines lines;
  ASSERT_TRUE(reader.Take(1, &lines).ok());
  for (int call = 0; call < 2; ++call) {
    const Status status = reader.Take(1, &lines).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
    EXPECT_THAT(std::string(Message(status)), HasSubstr("/none: no such file"));
  }
}

TEST(LineReaderTest, TooLongALineIsAnErrorThatSaysWhere) {
  TempDir dir;
  LineReader reader({dir.Write("a", "x\n" + std::string(5000, 'y'))},
                    {.buffer_bytes = 64, .max_line_bytes = 1000});
  TextLines lines;
  const Status status = reader.Take(2, &lines).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("/a:2: the line is longer than 1000 bytes"));
}

}  // namespace
}  // namespace flotilla
