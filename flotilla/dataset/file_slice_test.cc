#include "flotilla/dataset/file_slice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "flotilla/base/rng.h"
#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/dataset/line_reader.h"
#include "flotilla/dataset/read_testing.h"
#include "flotilla/dataset/stream.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

// The lines of the slices, read `count` at a time, with their numbers in their files. At every
// `seek_every`-th call another reader continues at the position of the first.
std::vector<std::string> ReadSlices(const std::vector<FileSlice>& slices, int header_lines,
                                    int64_t count, size_t buffer_bytes, int seek_every) {
  LineReaderOptions options{.buffer_bytes = buffer_bytes, .header_lines = header_lines};
  auto reader = std::make_unique<LineReader>(slices, options);
  std::vector<std::string> all;
  TextLines lines;
  for (int call = 1;; ++call) {
    const StatusOr<int64_t> taken = reader->Take(count, &lines);
    EXPECT_TRUE(taken.ok()) << taken.status();
    if (!taken.ok()) return all;
    LineCursor cursor(lines);
    for (std::string_view line; cursor.Next(&line);) {
      const StatusOr<int64_t> first = FirstLineOf(slices[cursor.file()], header_lines);
      EXPECT_TRUE(first.ok()) << first.status();
      all.push_back(fmt::format("{}:{}", *first + cursor.line_number() - header_lines - 1, line));
    }
    if (*taken < count) return all;
    if (call % seek_every != 0) continue;
    const LinePosition position = reader->position();
    reader = std::make_unique<LineReader>(slices, options);
    EXPECT_TRUE(reader->Seek(position).ok());
  }
}

TEST(FileSliceTest, SlicesThatCoverAFileHaveEachLineOnceWhereverTheyAreCut) {
  const TempDir dir;
  const RngKey key = RngKey(7).With("slices");
  const std::vector<std::string> pieces = {"a", "bc", "def", "", "\r", "0123456789"};
  for (int text_number = 0; text_number < 40; ++text_number) {
    const RngKey text_key = key.With(text_number);
    std::string text = text_number % 5 == 4 ? "\xEF\xBB\xBF" : "";
    for (int i = 0; i < 12; ++i) text += pieces[text_key.Below(i, pieces.size())] + "\n";
    if (text_number % 2 == 1) text.pop_back();
    const std::string path = dir.Write("text", text);
    for (const int header_lines : {0, 1, 2}) {
      std::vector<std::string> expected =
          ReadSlices({{.path = path}}, header_lines, 5, 1 << 20, 1000);
      ASSERT_EQ(expected.size(), Lines(text).size() - header_lines);
      for (int cuts = 0; cuts < 4; ++cuts) {
        std::vector<int64_t> at = {0, kFileEnd};
        for (int c = 0; c < cuts; ++c) {
          at.push_back(1 + text_key.Below(100 + 10 * cuts + c, text.size() - 1));
        }
        std::sort(at.begin(), at.end());
        std::vector<std::string> joined;
        std::vector<FileSlice> all;
        for (size_t s = 0; s + 1 < at.size(); ++s) {
          const FileSlice slice{.path = path, .begin = at[s], .end = at[s + 1]};
          all.push_back(slice);
          for (std::string& line : ReadSlices({slice}, header_lines, 2, 4, 1)) {
            joined.push_back(std::move(line));
          }
        }
        SCOPED_TRACE(fmt::format("text {}, header {}, cuts {}", text_number, header_lines,
                                 fmt::join(at, " ")));
        ASSERT_EQ(joined, expected);
        ASSERT_EQ(ReadSlices(all, header_lines, 3, 64, 1000), expected);
        ASSERT_EQ(ReadSlices(all, header_lines, 3, 1 << 20, 2), expected);
      }
    }
  }
}

TEST(FileSliceTest, SharesHaveEveryLineOfAllFilesOnceAndEqualBytes) {
  const TempDir dir;
  std::vector<std::string> files;
  std::vector<std::string> expected;
  for (int f = 0; f < 3; ++f) {
    std::string text;
    for (int i = 0; i < 6'000 * f + 10; ++i) {
      text += fmt::format("{} of file {}{}\n", i, f, std::string(300 + i % 700, '.'));
    }
    files.push_back(dir.Write(fmt::format("f{}", f), text));
    for (std::string& line : Lines(text)) expected.push_back(std::move(line));
  }
  std::sort(expected.begin(), expected.end());
  for (const int trainers : {1, 2, 3, 7}) {
    std::vector<std::string> joined;
    std::vector<size_t> sizes;
    for (int t = 0; t < trainers; ++t) {
      const auto share = SliceFiles(files, {}, trainers, t);
      ASSERT_TRUE(share.has_value());
      LineReader reader(*share);
      TextLines lines;
      const StatusOr<int64_t> taken = reader.Take(10'000'000, &lines);
      ASSERT_TRUE(taken.ok()) << taken.status();
      sizes.push_back(lines.text.size());
      for (std::string& line : Lines(lines.text)) joined.push_back(std::move(line));
    }
    std::sort(joined.begin(), joined.end());
    EXPECT_TRUE(joined == expected)
        << trainers << " trainers, " << joined.size() << " lines of " << expected.size();
    const auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
    EXPECT_LT(*most - *least, 32 * 1000) << trainers;  // a line per slice
  }
  // Interleaved: both trainers of two have rows of the beginning and the end.
  const auto share = SliceFiles(files, {}, 2, 1);
  EXPECT_GT(share->size(), 5);
  EXPECT_EQ(share->back().end, kFileEnd);
}

TEST(FileSliceTest, SmallFilesAreSharedTooAndCompressedOrRemoteOnesAreNot) {
  const TempDir dir;
  const std::string one = dir.Write("one", "a\nb\nc\nd\n");
  EXPECT_THAT(*SliceFiles(std::vector{one}, {}, 2, 1),
              ElementsAre(FileSlice{.path = one, .begin = 4, .end = kFileEnd}));
  EXPECT_THAT(*SliceFiles(std::vector{one}, {}, 1, 0), ElementsAre(FileSlice{.path = one}));
  EXPECT_EQ(SliceFiles(std::vector{one, dir.Write("two.gz", "x")}, {}, 2, 0), std::nullopt);
  EXPECT_EQ(SliceFiles(std::vector<std::string>{"-"}, {}, 2, 0), std::nullopt);
  const SchemeCommands schemes = {{"hdfs", "cat"}};
  EXPECT_EQ(SliceFiles(std::vector<std::string>{"hdfs:/a"}, schemes, 2, 0), std::nullopt);
  EXPECT_EQ(SliceFiles(std::vector{one + "/missing"}, {}, 2, 0), std::nullopt);
}

TEST(FileSliceTest, ABadRowOfASliceIsNamedWithItsLineInTheFile) {
  const TempDir dir;
  const std::string path = dir.Write("rows", NumberLines(0, 70) + "bad\n" + NumberLines(71, 100));
  const auto dataset =
      MakeStream(std::vector<FileSlice>{{.path = path, .begin = 100}},
                 std::make_shared<NumberParser>(), StreamOptions{.batch = {.batch_size = 10}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ASSERT_TRUE((*dataset)->StartEpoch(0).ok());
  Batch batch;
  StatusOr<bool> more = true;
  while (more.ok() && *more) more = (*dataset)->Next(0, &batch);
  EXPECT_THAT(more.status().ToString(), HasSubstr(path + ":71:"));
}

TEST(FileSliceTest, AFileThatChangesWhileItsSliceIsReadIsAnError) {
  const TempDir dir;
  std::string text;
  for (int i = 0; i < 1000; ++i) text += fmt::format("{}\n", i);
  const std::string path = dir.Write("rows", text);
  LineReader reader(std::vector<FileSlice>{{.path = path, .begin = 10, .end = 2000}},
                    {.buffer_bytes = 64});
  TextLines lines;
  ASSERT_TRUE(reader.Take(5, &lines).ok());
  std::ofstream(path, std::ios::app) << "more\n";
  EXPECT_FALSE(reader.Take(1000, &lines).ok());
}

}  // namespace
}  // namespace flotilla
