#include "flotilla/dataset/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/base/rng.h"
#include "flotilla/base/temp_dir_testing.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// All lines of the reader as "file:line:text", read `count` at a time.
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

TEST(LineReaderTest, TooLongALineIsMarkedAndTheNextFollows) {
  TempDir dir;
  const std::string path =
      dir.Write("a", fmt::format("x\n{:y>1000}\n{:z>1001}\nw\n{:v>5000}", "", "", ""));
  const std::string last = dir.Write("b", "u\n");
  for (size_t buffer : {64, 999, 1003, 1 << 20}) {
    for (int64_t count : {1, 2, 9}) {
      LineReader reader({path, last}, {.buffer_bytes = buffer, .max_line_bytes = 1000});
      std::vector<std::string> all;
      TextLines lines;
      while (*reader.Take(count, &lines) > 0) {
        LineCursor cursor(lines);
        std::string_view line;
        while (cursor.Next(&line)) {
          all.push_back(fmt::format("{}:{}:{}{}", cursor.file(), cursor.line_number(), line.size(),
                                    cursor.too_long() ? " too long" : ""));
        }
      }
      EXPECT_THAT(all, ElementsAre("0:1:1", "0:2:1000", "0:3:0 too long", "0:4:1", "0:5:0 too long",
                                   "1:1:1"))
          << "buffer " << buffer << " count " << count;
    }
  }
}

TEST(LineReaderTest, ReaderGoesOnAtEveryPosition) {
  TempDir dir;
  const std::vector<std::string> files = {dir.Write("a", "\xEF\xBB\xBFhead\none\ntwo\r\n\nfour"),
                                          dir.Write("b", ""),
                                          dir.Write("c", fmt::format("head\n{:x>50}\nlast\n", ""))};
  const LineReaderOptions options{.buffer_bytes = 8, .max_line_bytes = 20, .header_lines = 1};
  LineReader reader(files, options);
  StatusOr<std::vector<std::string>> all = ReadAll(reader, 100);
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->size(), 6u);
  for (size_t taken = 0; taken <= all->size(); ++taken) {
    reader.Rewind();
    TextLines lines;
    for (size_t i = 0; i < taken; ++i) ASSERT_EQ(*reader.Take(1, &lines), 1);
    const LinePosition position = reader.position();
    LineReader other(files, options);
    ASSERT_TRUE(other.Seek(position).ok());
    EXPECT_EQ(other.position(), position);
    StatusOr<std::vector<std::string>> rest = ReadAll(other, 2);
    ASSERT_TRUE(rest.ok()) << rest.status();
    EXPECT_EQ(*rest, std::vector<std::string>(all->begin() + taken, all->end())) << taken;
  }
}

TEST(LineReaderTest, PositionBehindTheEndOfAFileIsAnErrorThatStays) {
  TempDir dir;
  LineReader reader({dir.Write("a", "x\n")});
  const Status status = reader.Seek({.file = 0, .line = 9, .offset = 100});
  EXPECT_THAT(std::string(Message(status)), HasSubstr("/a: ended 98 bytes before"));
  TextLines lines;
  EXPECT_EQ(reader.Take(1, &lines).status(), status);
  EXPECT_FALSE(reader.Seek({.file = 2}).ok());
}

}  // namespace
}  // namespace flotilla
