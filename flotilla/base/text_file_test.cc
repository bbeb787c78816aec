#include "flotilla/base/text_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <fstream>
#include <thread>
#include <vector>

#include "flotilla/base/rng.h"
#include "flotilla/base/temp_dir_testing.h"

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

std::string Gzip(std::string_view text) {
  z_stream state{};
  EXPECT_EQ(deflateInit2(&state, 1, Z_DEFLATED, MAX_WBITS + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string packed(deflateBound(&state, text.size()), '\0');
  state.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  state.avail_in = text.size();
  state.next_out = reinterpret_cast<Bytef*>(packed.data());
  state.avail_out = packed.size();
  EXPECT_EQ(deflate(&state, Z_FINISH), Z_STREAM_END);
  packed.resize(state.total_out);
  deflateEnd(&state);
  return packed;
}

std::string ErrorText(const Status& status) { return std::string(Message(status)); }

StatusOr<std::string> ReadAll(const std::string& path, size_t step) {
  FL_ASSIGN_OR_RETURN(std::unique_ptr<ByteStream> file, OpenTextFile(path));
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
  const Status status = OpenTextFile(dir.path() + "/none.txt").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("none.txt: no such file"));
}

TEST(TextFileTest, DirectoryIsAnError) {
  TempDir dir;
  const Status status = OpenTextFile(dir.path()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Message(status)), HasSubstr("is a directory"));
}

TEST(TextFileTest, DanglingLinkIsNotFound) {
  TempDir dir;
  const std::string link = dir.path() + "/link.txt";
  ASSERT_EQ(symlink("nowhere", link.c_str()), 0);
  EXPECT_EQ(OpenTextFile(link).status().code(), absl::StatusCode::kNotFound);
}

TEST(TextFileTest, GzipFileReadsWholeInSmallAndLargeSteps) {
  TempDir dir;
  // Long repeats make single codes that fill a small output many times over.
  const std::string text = RandomText(300'000) + std::string(200'000, 'x') + RandomText(1000);
  const std::string path = dir.Write("a.gz", Gzip(text));
  for (size_t step : {100, 777, 4096, 1 << 20}) {
    StatusOr<std::string> got = ReadAll(path, step);
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_EQ(*got, text);
  }
}

TEST(TextFileTest, GzipMembersOneAfterAnotherReadAsOneText) {
  TempDir dir;
  const std::string first = RandomText(300'000);
  StatusOr<std::string> got =
      ReadAll(dir.Write("a.gz", Gzip(first) + Gzip("") + Gzip("tail")), 4096);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(*got, first + "tail");
}

TEST(TextFileTest, EveryTruncationOfAGzipFileIsAnError) {
  TempDir dir;
  const std::string packed = Gzip(RandomText(400'000));
  for (size_t keep : {size_t{0}, size_t{1}, size_t{5}, size_t{15}, packed.size() / 2,
                      packed.size() - 9, packed.size() - 1}) {
    StatusOr<std::string> got = ReadAll(dir.Write("cut.gz", packed.substr(0, keep)), 4096);
    ASSERT_FALSE(got.ok()) << "kept " << keep;
    EXPECT_THAT(ErrorText(got.status()), HasSubstr(keep == 0 ? "cut.gz: empty, expected a gzip"
                                                             : "cut.gz: truncated gzip stream"));
  }
}

TEST(TextFileTest, DamagedGzipFileIsAnErrorThatNamesIt) {
  TempDir dir;
  EXPECT_THAT(ErrorText(ReadAll(dir.Write("bad.gz", "this is plain text"), 4096).status()),
              HasSubstr("bad.gz: damaged gzip stream"));
  EXPECT_THAT(ErrorText(ReadAll(dir.Write("more.gz", Gzip("text") + "garbage"), 4096).status()),
              HasSubstr("more.gz: damaged gzip stream"));
  std::string flipped = Gzip(RandomText(100'000));
  flipped[flipped.size() - 6] ^= 1;  // in the checksum
  EXPECT_THAT(ErrorText(ReadAll(dir.Write("flip.gz", flipped), 4096).status()),
              HasSubstr("flip.gz: damaged gzip stream: incorrect data check"));
}

TEST(TextFileTest, SkipGoesOnAtThePlace) {
  TempDir dir;
  const std::string text = RandomText(100'000);
  for (const std::string& path : {dir.Write("a.txt", text), dir.Write("a.gz", Gzip(text)),
                                  dir.Write("a.zst", Compress(text))}) {
    StatusOr<std::unique_ptr<ByteStream>> file = OpenTextFile(path);
    ASSERT_TRUE(file.ok()) << file.status();
    char got[3];
    ASSERT_TRUE((*file)->Skip(60'000).ok());
    ASSERT_TRUE((*file)->Skip(1'000).ok());
    ASSERT_EQ(*(*file)->Read(got), 3u);
    EXPECT_EQ(std::string(got, 3), text.substr(61'000, 3));
    EXPECT_EQ(ErrorText((*file)->Skip(38'998)),
              path + ": ended 1 bytes before the position to resume at");
  }
}

TEST(TextFileTest, FileThatChangesWhileItIsReadIsAnErrorAtItsEnd) {
  TempDir dir;
  const std::string path = dir.Write("a.txt", RandomText(1000));
  StatusOr<std::unique_ptr<ByteStream>> file = OpenTextFile(path);
  ASSERT_TRUE(file.ok()) << file.status();
  std::vector<char> buffer(600);
  ASSERT_TRUE((*file)->Read(buffer).ok());
  std::ofstream(path, std::ios::app) << "more";
  StatusOr<size_t> got = (*file)->Read(buffer);
  while (got.ok() && *got > 0) got = (*file)->Read(buffer);
  EXPECT_EQ(ErrorText(got.status()),
            path + ": changed while it was read (1000 bytes when opened, 1004 now)");
}

TEST(TextFileTest, DashIsStandardInput) {
  TempDir dir;
  StatusOr<std::unique_ptr<RawFile>> file = RawFile::Open(dir.Write("a", "from a file"));
  ASSERT_TRUE(file.ok());
  const int before = dup(STDIN_FILENO);
  ASSERT_EQ(dup2((*file)->fd(), STDIN_FILENO), STDIN_FILENO);
  StatusOr<std::string> got = ReadAll("-", 100);
  dup2(before, STDIN_FILENO);
  close(before);
  ASSERT_TRUE(got.ok()) << got.status();
  EXPECT_EQ(*got, "from a file");
}

TEST(TextFileTest, StampTellsVersionsApart) {
  TempDir dir;
  const std::string path = dir.Write("a.txt", "one");
  StatusOr<FileStamp> first = StampOf(path);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(first->bytes, 3);
  EXPECT_EQ(*StampOf(path), *first);
  dir.Write("a.txt", "three");
  EXPECT_NE(*StampOf(path), *first);
  EXPECT_EQ(StampOf(dir.path()).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(StampOf(path + "x").status().code(), absl::StatusCode::kNotFound);
}

TEST(RawFileTest, AnInterruptEndsTheWaitForANamedPipeThatNobodyWrites) {
  TempDir dir;
  const std::string path = dir.path() + "/fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  Interrupt interrupt;
  std::thread raiser([&] { interrupt.Raise(absl::UnavailableError("gone")); });
  EXPECT_EQ(RawFile::Open(path, &interrupt).status(), absl::UnavailableError("gone"));
  raiser.join();
}

TEST(RawFileTest, ANamedPipeIsReadUpToTheEndOfItsWriter) {
  TempDir dir;
  const std::string path = dir.path() + "/fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path) << "one\ntwo\n"; });
  const Interrupt interrupt;
  auto file = RawFile::Open(path, &interrupt);
  ASSERT_TRUE(file.ok()) << file.status();
  std::string text;
  std::vector<char> buffer(3);
  while (const size_t got = (*file)->Read(buffer).value()) text.append(buffer.data(), got);
  EXPECT_EQ(text, "one\ntwo\n");
  writer.join();
}

TEST(RawFileTest, AnInterruptEndsTheReadingOfAFile) {
  TempDir dir;
  Interrupt interrupt;
  auto file = RawFile::Open(dir.Write("a", "one\ntwo\n"), &interrupt);
  ASSERT_TRUE(file.ok());
  std::vector<char> buffer(3);
  EXPECT_EQ((*file)->Read(buffer).value(), 3u);
  interrupt.RaiseSignal(SIGTERM);
  EXPECT_TRUE(absl::IsCancelled((*file)->Read(buffer).status()));
}

}  // namespace
}  // namespace flotilla
