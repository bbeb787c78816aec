#include "flotilla/dataset/cache_source.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/dataset/read_testing.h"
#include "flotilla/dataset/stream.h"

namespace flotilla {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// NumberParser under another name.
class RenamedParser : public NumberParser {
 public:
  std::string identity() const override { return "number/2"; }
};

// The sources, the cache directory and the log lines of one test.
class CacheSourceTest : public ::testing::Test {
 protected:
  std::unique_ptr<Dataset> Make(std::vector<std::string> files, StreamOptions options,
                                std::shared_ptr<const Parser> parser = nullptr) {
    options.log = [this](std::string_view line) { log_.emplace_back(line); };
    if (parser == nullptr) parser = std::make_shared<NumberParser>();
    options.cache = cache_dir();
    options.threads = 2;
    auto dataset = MakeStream(std::move(files), std::move(parser), options);
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    return *std::move(dataset);
  }

  StatusOr<BatchesByOrdinal> Read(std::vector<std::string> files, StreamOptions options = {},
                                  std::shared_ptr<const Parser> parser = nullptr) {
    log_.clear();
    return ReadEpoch(*Make(std::move(files), options, std::move(parser)), 0, 2);
  }

  std::string cache_dir() const { return dir_.path() + "/cache/deep"; }

  std::vector<std::string> CacheFiles() const {
    std::vector<std::string> files;
    for (const auto& entry : std::filesystem::directory_iterator(cache_dir())) {
      files.push_back(entry.path().string());
    }
    return files;
  }

  TempDir dir_;
  std::vector<std::string> log_;
};

TEST_F(CacheSourceTest, GivesTheBatchesOfTheText) {
  const std::vector<std::string> files = {dir_.Write("a", NumberLines(0, 3000)),
                                          dir_.Write("e", ""),
                                          dir_.Write("b", NumberLines(3000, 5100))};
  for (const int64_t shuffle : {0, 700}) {
    for (const bool drop_last : {false, true}) {
      const StreamOptions options{
          .batch = {.batch_size = 64, .drop_last = drop_last, .shuffle_rows = shuffle, .seed = 5}};
      auto text = MakeStream(files, std::make_shared<NumberParser>(), options);
      ASSERT_TRUE(text.ok());
      for (int64_t epoch : {0, 1}) {
        StatusOr<BatchesByOrdinal> expected = ReadEpoch(**text, epoch, 1);
        ASSERT_TRUE(expected.ok()) << expected.status();
        std::unique_ptr<Dataset> cached = Make(files, options);
        for (int workers : {1, 4}) {
          StatusOr<BatchesByOrdinal> batches = ReadEpoch(*cached, epoch, workers);
          ASSERT_TRUE(batches.ok()) << batches.status();
          EXPECT_EQ(*batches, *expected);
          EXPECT_EQ(cached->counts(), (*text)->counts());
        }
      }
    }
  }
}

TEST_F(CacheSourceTest, SecondReadingUsesTheFilesOfTheFirst) {
  const std::string a = dir_.Write("a", NumberLines(0, 3000));
  ASSERT_TRUE(Read({a}).ok());
  EXPECT_THAT(log_, ElementsAre(AllOf(HasSubstr("cache of " + a + ": wrote "),
                                      HasSubstr(".flcache, 3000 rows"))));
  // Same size and modification time, other rows: the old rows can only come from the cache.
  const auto time = std::filesystem::last_write_time(a);
  std::string other = NumberLines(0, 3000);
  std::replace(other.begin(), other.end(), '7', '8');
  dir_.Write("a", other);
  std::filesystem::last_write_time(a, time);
  StatusOr<BatchesByOrdinal> batches = Read({a});
  ASSERT_TRUE(batches.ok()) << batches.status();
  EXPECT_EQ(RowsOf(*batches), Iota(3000));
  EXPECT_THAT(log_, IsEmpty());
}

TEST_F(CacheSourceTest, ChangedSourceIsSeenAndSaid) {
  const std::string a = dir_.Write("a", NumberLines(0, 10));
  ASSERT_TRUE(Read({a}).ok());
  dir_.Write("a", NumberLines(0, 11));
  StatusOr<BatchesByOrdinal> batches = Read({a});
  ASSERT_TRUE(batches.ok()) << batches.status();
  EXPECT_EQ(RowsOf(*batches), Iota(11));
  EXPECT_THAT(log_,
              ElementsAre(HasSubstr("size was '47', is '54', rebuilding it"), HasSubstr("wrote")));
  std::filesystem::last_write_time(a, std::filesystem::last_write_time(a) + std::chrono::hours(1));
  ASSERT_TRUE(Read({a}).ok());
  EXPECT_THAT(log_, ElementsAre(HasSubstr("modified_ns was"), HasSubstr("wrote")));
}

TEST_F(CacheSourceTest, SourceThatChangesBetweenEpochsIsSeenByTheSameDataset) {
  const std::string a = dir_.Write("a", NumberLines(0, 10));
  std::unique_ptr<Dataset> dataset = Make({a}, {});
  ASSERT_TRUE(ReadEpoch(*dataset, 0).ok());
  dir_.Write("a", NumberLines(0, 12));
  StatusOr<BatchesByOrdinal> batches = ReadEpoch(*dataset, 1);
  ASSERT_TRUE(batches.ok()) << batches.status();
  EXPECT_EQ(RowsOf(*batches), Iota(12));
}

TEST_F(CacheSourceTest, ChangedParserOrCommandIsSeenAndSaid) {
  const std::string a = dir_.Write("a", NumberLines(0, 10));
  ASSERT_TRUE(Read({a}).ok());
  ASSERT_TRUE(Read({a}, {}, std::make_shared<RenamedParser>()).ok());
  EXPECT_THAT(log_,
              ElementsAre(HasSubstr("parser was 'number/1', is 'number/2'"), HasSubstr("wrote")));
  StreamOptions piped;
  piped.reader.source.pipe_command = "head -3";
  StatusOr<BatchesByOrdinal> batches = Read({a}, piped, std::make_shared<RenamedParser>());
  ASSERT_TRUE(batches.ok()) << batches.status();
  EXPECT_EQ(RowsOf(*batches), Iota(3));
  EXPECT_THAT(log_, ElementsAre(HasSubstr("command was '', is 'head -3'"), HasSubstr("wrote")));
}

TEST_F(CacheSourceTest, EveryFlippedByteAndEveryTruncationIsFoundAndMendedInTheSameEpoch) {
  const std::string a = dir_.Write("a", NumberLines(0, 1500));
  ASSERT_TRUE(Read({a}).ok());
  ASSERT_EQ(CacheFiles().size(), 1u);
  const std::string path = CacheFiles()[0], good = ContentOf(path);
  auto expect_mended = [&](const std::string& bad, size_t place) {
    std::ofstream(path, std::ios::binary) << bad;
    StatusOr<BatchesByOrdinal> batches = Read({a}, {.batch = {.batch_size = 100}});
    ASSERT_TRUE(batches.ok()) << batches.status();
    EXPECT_EQ(RowsOf(*batches), Iota(1500)) << place;
    ASSERT_EQ(log_.size(), 2u) << place;
    EXPECT_THAT(log_[0], HasSubstr("rebuilding it")) << place;
  };
  for (size_t place = 0; place < good.size(); place += 1 + good.size() / 150) {
    std::string bad = good;
    bad[place] = static_cast<char>(bad[place] ^ 0x10);
    expect_mended(bad, place);
  }
  for (size_t keep : {size_t{0}, size_t{7}, good.size() / 2, good.size() - 1}) {
    expect_mended(good.substr(0, keep), keep);
  }
}

TEST_F(CacheSourceTest, BadRowsAreCountedFromTheCacheAsFromTheText) {
  const std::string a = dir_.Write("a", "0\nbad\n1 10\n"), b = dir_.Write("b", "2 20 21\nx\ny\n");
  for (int run = 0; run < 2; ++run) {
    std::unique_ptr<Dataset> dataset = Make({a, b}, {.max_bad_rows = 3});
    StatusOr<BatchesByOrdinal> batches = ReadEpoch(*dataset, 0);
    ASSERT_TRUE(batches.ok()) << batches.status();
    EXPECT_EQ(RowsOf(*batches), Iota(3));
    EXPECT_EQ(dataset->counts().skipped, 3);
    EXPECT_THAT(dataset->counts().samples, ElementsAre(a + ":2:1: expected a digit, found 'bad'",
                                                       b + ":2:1: expected a digit, found 'x'",
                                                       b + ":3:1: expected a digit, found 'y'"));
  }
  EXPECT_EQ(Message(Read({a, b}, {.max_bad_rows = 2}).status()),
            "more than 2 bad rows: " + b + ":3:1: expected a digit, found 'y'");
  EXPECT_EQ(Message(Read({a, b}).status()), a + ":2:1: expected a digit, found 'bad'");
}

TEST_F(CacheSourceTest, FailedReadingLeavesNoFileBehind) {
  const std::string a = dir_.Write("a", NumberLines(0, 5000) + "bad\n");
  EXPECT_EQ(Message(Read({a}).status()), a + ":5001:1: expected a digit, found 'bad'");
  EXPECT_THAT(CacheFiles(), IsEmpty());
  EXPECT_THAT(std::string(Message(Read({dir_.path() + "/none"}).status())),
              HasSubstr("/none: no such file"));
}

TEST_F(CacheSourceTest, EpochWithoutRowsIsAnError) {
  const std::string e = dir_.Write("e", "");
  for (int run = 0; run < 2; ++run) {
    EXPECT_THAT(std::string(Message(Read({e}).status())), HasSubstr("no rows in 1 file(s)"));
  }
}

TEST_F(CacheSourceTest, ResumesExactlyAfterEveryBatch) {
  const std::vector<std::string> files = {dir_.Write("a", NumberLines(0, 95) + "bad\n"),
                                          dir_.Write("b", ""),
                                          dir_.Write("c", NumberLines(95, 160) + "bad\n")};
  for (const int64_t shuffle : {0, 30}) {
    const StreamOptions options{.batch = {.batch_size = 10, .shuffle_rows = shuffle},
                                .max_bad_rows = 2};
    ExpectResumesExactly([&] { return Make(files, options); }, 2);
  }
}

TEST_F(CacheSourceTest, FileThatCountsBadRowsWrongIsDamaged) {
  const std::string path = dir_.path() + "/file";
  ASSERT_TRUE((*CacheWriter::Make(path, "key\n", {}))->Finish(-1, {}).ok());
  EXPECT_EQ(CacheFile::Open(path, "key\n", {}).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(CacheSourceTest, SourcesWithoutAStampCannotBeCached) {
  for (const std::string name : {"-", "hdfs:/x"}) {
    const Status status =
        MakeStream({name}, std::make_shared<NumberParser>(), {.cache = cache_dir()}).status();
    EXPECT_THAT(std::string(Message(status)), HasSubstr(name + ": cannot be cached"));
  }
}

TEST_F(CacheSourceTest, DirectoryThatCannotBeMadeIsAnError) {
  const std::string file = dir_.Write("file", "");
  const Status status =
      MakeStream({file}, std::make_shared<NumberParser>(), {.cache = file}).status();
  EXPECT_THAT(std::string(Message(status)), HasSubstr("cache " + file));
}

TEST_F(CacheSourceTest, StreamIsOfTextOrCacheAsTheOptionsSay) {
  const std::string a = dir_.Write("a", NumberLines(0, 10)),
                    b = dir_.Write("b", NumberLines(10, 20));
  const auto parser = std::make_shared<NumberParser>();
  const auto text = MakeStream({a, b}, parser, {.readers = 5});
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ((*text)->readers(), 2);
  EXPECT_FALSE(std::filesystem::exists(cache_dir()));
  const auto cached = MakeStream({a, b}, parser, {.readers = 5, .cache = cache_dir()});
  ASSERT_TRUE(cached.ok()) << cached.status();
  EXPECT_EQ((*cached)->readers(), 1);
  ASSERT_TRUE(ReadEpoch(**cached, 0).ok());
  EXPECT_EQ(CacheFiles().size(), 2u);
}

}  // namespace
}  // namespace flotilla
