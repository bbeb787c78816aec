#include "flotilla/base/text_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zstd.h>

#include "flotilla/base/rng.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

// Text that a compressor cannot make tiny, so that a stream has many blocks.
std::string RandomText(size_t bytes) {
  const RngKey key(42);
  std::string text(bytes, ' ');
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>('a' + key.Below(i, 26));
  return text;
}

std::string Compress(std::string_view text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 1));
  return packed;
}

StatusOr<std::string> ReadAll(const std::string& path, size_t step) {
  FL_ASSIGN_OR_RETURN(std::unique_ptr<TextFile> file, TextFile::Open(path));
  std::string text;
  std::vector<char> buffer(step);
  while (true) {
    FL_ASSIGN_OR_RETURN(const size_t got, file->Read(buffer));
    if (got == 0) return text;
    text.append(buffer.data(), got);
  }
}

TEST(TextFileTest, PlainFileReadsWhole) {
  TempDir dir;
  const std::string text = RandomText(100'000);
  const std::string path = dir.Write("a.txt", text);
  for (size_t step : {1000, 4096, 1 << 20}) {
    StatusOr<std::string> got = ReadAll(path, step);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(*got, text);
  }
}

TEST(TextFileTest, EmptyPlainFileEndsAtOnce) {
  TempDir dir;
  StatusOr<std::string> got = ReadAll(dir.Write("a.txt", ""), 10);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(*got, "");
}

TEST(TextFileTest, ZstdFileReadsWholeInSmallAndLargeSteps) {
  TempDir dir;
  const std::string text = RandomText(500'000);
  const std::string path = dir.Write("a.zst", Compress(text));
  for (size_t step : {777, 4096, 1 << 20}) {
    StatusOr<std::string> got = ReadAll(path, step);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(*got, text);
  }
}

TEST(TextFileTest, ZstdFramesOneAfterAnotherReadAsOneText) {
  TempDir dir;
  const std::string first = RandomText(300'000);
  StatusOr<std::string> got =
      ReadAll(dir.Write("a.zst", Compress(first) + Compress("") + Compress("tail")), 4096);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(*got, first + "tail");
}

TEST(TextFileTest, ZstdFileOfAnEmptyTextEndsAtOnce) {
  TempDir dir;
  StatusOr<std::string> got = ReadAll(dir.Write("a.zst", Compress("")), 10);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(*got, "");
}

TEST(TextFileTest, EveryTruncationOfAZstdFileIsAnError) {
  TempDir dir;
  const std::string packed = Compress(RandomText(400'000));
  for (size_t keep : {size_t{0}, size_t{1}, size_t{5}, packed.size() / 2, packed.size() - 1}) {
    StatusOr<std::string> got = ReadAll(dir.Write("cut.zst", packed.substr(0, keep)), 4096);
    ASSERT_FALSE(got.ok()) << "kept " << keep;
    EXPECT_THAT(std::string(Message(got.status())), HasSubstr("cut.zst: "));
  }
}

TEST(TextFileTest, DamagedZstdFileIsAnErrorThatNamesIt) {
  TempDir dir;
  StatusOr<std::string> got = ReadAll(dir.Write("bad.zst", "this is plain text"), 4096);
  ASSERT_FALSE(got.ok());
  EXPECT_THAT(std::string(Message(got.status())), HasSubstr("bad.zst: damaged zstd stream"));
}

TEST(TextFileTest, MissingFileIsNotFound) {
  TempDir dir;
  const Status status = TextFile::Open(dir.path() + "/none.txt").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("none.txt: no such file"));
}

TEST(TextFileTest, DirectoryIsAnError) {
  TempDir dir;
  const Status status = TextFile::Open(dir.path()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("is a directory"));
}

TEST(TextFileTest, GzipIsRefusedByName) {
  const Status status = TextFile::Open("a.gz").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("a.gz: gzip is not supported"));
}

}  // namespace
}  // namespace flotilla
