#include "flotilla/dataset/stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <thread>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/dataset/read_testing.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

std::unique_ptr<BatchedDataset> MakeDataset(std::vector<std::string> files,
                                            const StreamOptions& options) {
  StatusOr<std::unique_ptr<BatchedDataset>> dataset =
      MakeStream(std::move(files), std::make_shared<NumberParser>(), options);
  EXPECT_TRUE(dataset.ok()) << dataset.status();
  return *std::move(dataset);
}

TEST(StreamTest, BatchesFollowTheFilesAndCrossTheirBorders) {
  TempDir dir;
  auto dataset = MakeDataset({dir.Write("a", NumberLines(0, 5)), dir.Write("b", NumberLines(5, 8))},
                             {.batch = {.batch_size = 3}});
  for (int64_t epoch : {0, 1}) {
    StatusOr<BatchesByOrdinal> batches = ReadEpoch(*dataset, epoch, 1);
    ASSERT_TRUE(batches.ok()) << batches.status();
    EXPECT_THAT(*batches, ElementsAre(Pair(0, ElementsAre(0, 1, 2)), Pair(1, ElementsAre(3, 4, 5)),
                                      Pair(2, ElementsAre(6, 7))));
    EXPECT_EQ(dataset->counts(), (DatasetCounts{.rows = 8}));
  }
}

TEST(StreamTest, BatchesDoNotDependOnTheNumberOfWorkers) {
  TempDir dir;
  auto dataset =
      MakeDataset({dir.Write("a", NumberLines(0, 700)), dir.Write("b", NumberLines(700, 1999))},
                  {.batch = {.batch_size = 7}});
  StatusOr<BatchesByOrdinal> one = ReadEpoch(*dataset, 0, 1);
  StatusOr<BatchesByOrdinal> four = ReadEpoch(*dataset, 0, 4);
  ASSERT_TRUE(one.ok() && four.ok());
  EXPECT_EQ(one->size(), 286u);
  EXPECT_EQ(*one, *four);
  EXPECT_EQ(dataset->counts().rows, 1999);
}

TEST(StreamTest, ShortLastBatchIsDroppedAndCountedWhenTold) {
  TempDir dir;
  auto dataset = MakeDataset({dir.Write("a", NumberLines(0, 8))},
                             {.batch = {.batch_size = 3, .drop_last = true}});
  StatusOr<BatchesByOrdinal> batches = ReadEpoch(*dataset, 0, 2);
  ASSERT_TRUE(batches.ok()) << batches.status();
  EXPECT_EQ(batches->size(), 2u);
  EXPECT_EQ(dataset->counts(), (DatasetCounts{.rows = 6, .dropped = 2}));
}

TEST(StreamTest, BadRowStopsWithFileLineAndColumn) {
  TempDir dir;
  const std::string path = dir.Write("b", "5\n6\nx7\n8\n");
  auto dataset = MakeDataset({dir.Write("a", "1\n2\n"), path}, {.batch = {.batch_size = 10}});
  EXPECT_EQ(ErrorOf(*dataset), path + ":3:1: expected a digit, found 'x7'");
}

TEST(StreamTest, FirstErrorStaysUntilTheNextEpoch) {
  TempDir dir;
  auto dataset = MakeDataset({dir.Write("a", "bad\n1\n2\n3\n")}, {.batch = {.batch_size = 1}});
  Batch batch;
  ASSERT_TRUE(dataset->StartEpoch(0).ok());
  const Status first = dataset->Next(0, &batch).status();
  EXPECT_FALSE(first.ok());
  EXPECT_EQ(dataset->Next(1, &batch).status(), first);
  ASSERT_TRUE(dataset->StartEpoch(1).ok());
  EXPECT_FALSE(dataset->Next(0, &batch).ok());
}

TEST(StreamTest, BadRowsWithinTheLimitAreSkippedAndCounted) {
  TempDir dir;
  auto dataset = MakeDataset({dir.Write("a", "0\nbad\n2 20 21\n\n4 40\nbad\nbad\n")},
                             {.batch = {.batch_size = 2}, .max_bad_rows = 4});
  StatusOr<BatchesByOrdinal> batches = ReadEpoch(*dataset, 0, 2);
  ASSERT_TRUE(batches.ok()) << batches.status();
  // The last line is a batch of its own without a good row, so it is skipped.
  EXPECT_THAT(*batches, ElementsAre(Pair(0, ElementsAre(0)), Pair(1, ElementsAre(2)),
                                    Pair(2, ElementsAre(4))));
  const DatasetCounts counts = dataset->counts();
  EXPECT_EQ(counts.rows, 3);
  EXPECT_EQ(counts.skipped, 4);
  EXPECT_EQ(counts.read(), 7);
}

TEST(StreamTest, OneBadRowTooManyStops) {
  TempDir dir;
  const std::string path = dir.Write("a", "0\nbad\nbad\nbad\n");
  auto dataset = MakeDataset({path}, {.batch = {.batch_size = 2}, .max_bad_rows = 2});
  EXPECT_EQ(ErrorOf(*dataset),
            "more than 2 bad rows: " + path + ":4:1: expected a digit, found 'bad'");
}

TEST(StreamTest, EpochWithoutRowsIsAnError) {
  TempDir dir;
  const std::string empty = dir.Write("a", "");
  EXPECT_THAT(ErrorOf(*MakeDataset({empty, empty}, {}), 2),
              HasSubstr("no rows in 2 file(s), first " + empty));
  auto all_bad = MakeDataset({dir.Write("b", "bad\nbad\nbad\n")},
                             {.batch = {.batch_size = 1}, .max_bad_rows = 100});
  EXPECT_THAT(ErrorOf(*all_bad, 3), HasSubstr("3 bad rows skipped"));
  auto dropped =
      MakeDataset({dir.Write("c", "1\n2\n")}, {.batch = {.batch_size = 3, .drop_last = true}});
  EXPECT_THAT(ErrorOf(*dropped, 2), HasSubstr("2 rows dropped as a short last batch"));
}

TEST(StreamTest, MissingFileIsAnErrorOfTheEpoch) {
  TempDir dir;
  auto dataset = MakeDataset({dir.path() + "/none"}, {});
  EXPECT_THAT(ErrorOf(*dataset, 2), HasSubstr("/none: no such file"));
}

TEST(StreamTest, CarriageReturnsAndAMissingLastNewlineAreNoBadRows) {
  TempDir dir;
  auto dataset =
      MakeDataset({dir.Write("a", "1 10\r\n2 20 21\r\n3")}, {.batch = {.batch_size = 10}});
  StatusOr<BatchesByOrdinal> batches = ReadEpoch(*dataset, 0, 1);
  ASSERT_TRUE(batches.ok()) << batches.status();
  EXPECT_THAT(*batches, ElementsAre(Pair(0, ElementsAre(1, 2, 3))));
}

TEST(StreamTest, EndOfEpochIsToldAgainAndAnEpochCanBeLeftEarly) {
  TempDir dir;
  auto dataset = MakeDataset({dir.Write("a", NumberLines(0, 4))}, {.batch = {.batch_size = 2}});
  Batch batch;
  ASSERT_TRUE(dataset->StartEpoch(0).ok());
  EXPECT_TRUE(*dataset->Next(0, &batch));
  ASSERT_TRUE(dataset->StartEpoch(1).ok());
  EXPECT_TRUE(*dataset->Next(0, &batch));
  EXPECT_EQ(batch.ordinal, 0);
  EXPECT_TRUE(*dataset->Next(0, &batch));
  EXPECT_FALSE(*dataset->Next(0, &batch));
  EXPECT_FALSE(*dataset->Next(0, &batch));
  EXPECT_EQ(batch.rows, 0);
}

TEST(StreamTest, WrongUseIsAnError) {
  const auto parser = std::make_shared<NumberParser>();
  EXPECT_THAT(std::string(Message(MakeStream(std::vector<std::string>(), parser, {}).status())),
              HasSubstr("no files"));
  EXPECT_THAT(
      std::string(Message(MakeStream({"a"}, parser, {.batch = {.batch_size = 0}}).status())),
      HasSubstr("batch_size 0"));
  auto dataset = MakeDataset({"a"}, {});
  Batch batch;
  EXPECT_EQ(dataset->Next(0, &batch).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(dataset->StartEpoch(-1).code(), absl::StatusCode::kInvalidArgument);
}

std::string WriteGzip(const TempDir& dir, const std::string& name, const std::string& text) {
  const std::string path = dir.path() + "/" + name;
  const gzFile file = gzopen(path.c_str(), "wb1");
  EXPECT_EQ(gzwrite(file, text.data(), text.size()), static_cast<int>(text.size()));
  EXPECT_EQ(gzclose(file), Z_OK);
  return path;
}

StreamOptions WithCommand(const std::string& command) {
  StreamOptions options{.batch = {.batch_size = 10}};
  options.reader.source.pipe_command = command;
  return options;
}

TEST(StreamTest, FirstBadRowsAreKeptAsSamples) {
  TempDir dir;
  std::string text = "1 10\n";
  for (int i = 0; i < 30; ++i) text += "bad\n";
  const std::string path = dir.Write("a", text);
  auto dataset = MakeDataset({path}, {.batch = {.batch_size = 100}, .max_bad_rows = 30});
  ASSERT_TRUE(ReadEpoch(*dataset, 0).ok());
  const DatasetCounts counts = dataset->counts();
  EXPECT_EQ(counts.skipped, 30);
  ASSERT_EQ(counts.samples.size(), EpochLedger::kSamples);
  EXPECT_EQ(counts.samples[0], path + ":2:1: expected a digit, found 'bad'");
}

TEST(StreamTest, LineOfAHundredMegabytesIsABadRow) {
  TempDir dir;
  const std::string path = dir.path() + "/a";
  std::ofstream(path) << "1 10\n" << std::string(100'000'000, '7') << "\n2 20 21\n";
  const std::string error =
      path + ":2:16777217: expected the end of the line, it is longer than 16777216 bytes";
  EXPECT_EQ(ErrorOf(*MakeDataset({path}, {})), error);
  auto skipping = MakeDataset({path}, {.max_bad_rows = 1});
  StatusOr<BatchesByOrdinal> batches = ReadEpoch(*skipping, 0);
  ASSERT_TRUE(batches.ok()) << batches.status();
  EXPECT_THAT(*batches, ElementsAre(Pair(0, ElementsAre(1, 2))));
  EXPECT_THAT(skipping->counts().samples, ElementsAre(error));
}

TEST(StreamTest, UnreadableFilesAreErrorsThatNameThem) {
  TempDir dir;
  EXPECT_THAT(ErrorOf(*MakeDataset({dir.path()}, {})), HasSubstr("is a directory"));
  const std::string link = dir.path() + "/link";
  ASSERT_EQ(symlink("nowhere", link.c_str()), 0);
  EXPECT_EQ(ErrorOf(*MakeDataset({link}, {})), link + ": no such file");
  if (geteuid() != 0) {  // who may read everything
    const std::string closed = dir.Write("closed", "1\n");
    ASSERT_EQ(chmod(closed.c_str(), 0), 0);
    EXPECT_THAT(ErrorOf(*MakeDataset({closed}, {})), StartsWith(closed + ": "));
  }
}

TEST(StreamTest, FileWhoseReadingFailsIsAnErrorThatNamesIt) {
  const std::string path = "/proc/self/mem";  // opens, but reading its first address fails
  if (access(path.c_str(), R_OK) != 0) GTEST_SKIP() << "skipped: no " << path;
  EXPECT_THAT(ErrorOf(*MakeDataset({path}, {})), StartsWith(path + ": "));
}

TEST(StreamTest, CompressedFilesAreReadAndTruncatedOnesAreErrors) {
  TempDir dir;
  const std::string path = WriteGzip(dir, "a.gz", NumberLines(0, 5000));
  auto dataset = MakeDataset({path}, {.batch = {.batch_size = 10}});
  StatusOr<BatchesByOrdinal> batches = ReadEpoch(*dataset, 0, 3);
  ASSERT_TRUE(batches.ok()) << batches.status();
  EXPECT_EQ(RowsOf(*batches).size(), 5000u);
  ASSERT_EQ(truncate(path.c_str(), 5000), 0);
  EXPECT_EQ(ErrorOf(*dataset), path + ": truncated gzip stream");
}

TEST(StreamTest, FileThatChangesWhileItIsReadIsAnError) {
  TempDir dir;
  const std::string path = dir.Write("a", NumberLines(0, 1000));
  StreamOptions options{.batch = {.batch_size = 10}};
  options.reader.buffer_bytes = 100;
  auto dataset = MakeDataset({path}, options);
  ASSERT_TRUE(dataset->StartEpoch(0).ok());
  Batch batch;
  ASSERT_TRUE(*dataset->Next(0, &batch));
  std::ofstream(path, std::ios::app) << "1000 10000\n";
  EXPECT_THAT(std::string(Message(ReadRest(*dataset, 0, 1).status())),
              HasSubstr(path + ": changed while it was read"));
}

TEST(StreamTest, PipeCommandTurnsEachFileIntoLines) {
  TempDir dir;
  const std::string plain = dir.Write("a", "x0 y1 10 z\n");
  const std::string packed = WriteGzip(dir, "b.gz", "x2 20 21\n");
  auto dataset = MakeDataset({plain, packed}, WithCommand("tr -d xyz | tr -s ' ' '\\n'"));
  // Each word is a line now: 0, 1, 10, then 2, 20, 21.
  ASSERT_TRUE(dataset->StartEpoch(0).ok());
  Batch batch;
  ASSERT_TRUE(*dataset->Next(0, &batch)) << "no batch";
  EXPECT_THAT(batch.fields[0].values, ElementsAre(0, 1, 10, 2, 20, 21));
}

TEST(StreamTest, BadRowOfAPipeHasTheLineOfItsOutput) {
  TempDir dir;
  const std::string path = dir.Write("a", "1\n2\n");
  EXPECT_EQ(ErrorOf(*MakeDataset({path}, WithCommand("cat; echo oops"))),
            path + ":3:1: expected a digit, found 'oops'");
}

TEST(StreamTest, FailingPipesFailTheEpoch) {
  TempDir dir;
  const std::string path = dir.Write("a", NumberLines(0, 100));
  EXPECT_EQ(ErrorOf(*MakeDataset({path}, WithCommand("head -1; echo why >&2; exit 3"))),
            path +
                ": command `head -1; echo why >&2; exit 3` exited with code 3; its standard error "
                "ends with:\nwhy");
  EXPECT_THAT(ErrorOf(*MakeDataset({path}, WithCommand("kill -15 $$"))),
              HasSubstr("was killed by signal 15"));
  const std::string fifo = dir.path() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  StreamOptions hangs = WithCommand("cat - " + fifo);
  hangs.reader.source.idle_timeout_ms = 100;
  EXPECT_THAT(ErrorOf(*MakeDataset({path}, hangs)), HasSubstr("wrote nothing for 100 ms"));
  const std::string cut = WriteGzip(dir, "cut.gz", NumberLines(0, 5000));
  ASSERT_EQ(truncate(cut.c_str(), 5000), 0);
  EXPECT_EQ(ErrorOf(*MakeDataset({cut}, WithCommand("cat"))), cut + ": truncated gzip stream");
  EXPECT_TRUE(waitpid(-1, nullptr, WNOHANG) == -1 && errno == ECHILD) << "a child is left";
}

TEST(StreamTest, PipesThatWriteNothingAreToldAndAnEpochOfThemIsAnError) {
  TempDir dir;
  const std::string a = dir.Write("a", "1\n"), b = dir.Write("b", "2 20 21\n");
  std::vector<std::string> log;
  StreamOptions options = WithCommand("grep 2 || true");
  options.log = [&](std::string_view line) { log.emplace_back(line); };
  ASSERT_TRUE(ReadEpoch(*MakeDataset({a, b}, options), 0).ok());
  EXPECT_THAT(log, ElementsAre(a + ": command `grep 2 || true` wrote nothing"));
  EXPECT_THAT(ErrorOf(*MakeDataset({a, b}, WithCommand("true"))),
              HasSubstr("no rows in 2 file(s), first " + a + " (through the command `true`)"));
}

TEST(StreamTest, ReadersTakeContiguousSharesAndBatchesDoNotDependOnWorkers) {
  TempDir dir;
  std::vector<std::string> files;
  for (int i = 0; i < 5; ++i) {
    files.push_back(dir.Write(fmt::format("f{}", i), NumberLines(100 * i, 100 * i + 100)));
  }
  for (const std::string command : {"", "cat"}) {
    StreamOptions options = WithCommand(command);
    options.batch.batch_size = 30;
    options.readers = 2;
    auto dataset = MakeDataset(files, options);
    EXPECT_EQ(dataset->readers(), 2);
    StatusOr<BatchesByOrdinal> one = ReadEpoch(*dataset, 0, 1);
    StatusOr<BatchesByOrdinal> four = ReadEpoch(*dataset, 0, 4);
    ASSERT_TRUE(one.ok() && four.ok());
    EXPECT_EQ(*one, *four);
    BatchesByOrdinal first, second;
    for (const auto& [ordinal, numbers] : *one) (ordinal % 2 ? second : first)[ordinal] = numbers;
    std::vector<int> expected(300);
    std::iota(expected.begin(), expected.end(), 0);
    EXPECT_EQ(RowsOf(first), expected);
    expected.resize(200);
    std::iota(expected.begin(), expected.end(), 300);
    EXPECT_EQ(RowsOf(second), expected);
  }
}

TEST(StreamTest, OneWorkerGetsAscendingOrdinalsFromSeveralReaders) {
  TempDir dir;
  auto dataset =
      MakeDataset({dir.Write("a", NumberLines(0, 50)), dir.Write("b", NumberLines(0, 90))},
                  {.batch = {.batch_size = 10}, .readers = 2});
  ASSERT_TRUE(dataset->StartEpoch(0).ok());
  std::vector<int64_t> ordinals;
  for (Batch batch; *dataset->Next(0, &batch);) ordinals.push_back(batch.ordinal);
  EXPECT_EQ(ordinals.size(), 14u);
  EXPECT_TRUE(std::is_sorted(ordinals.begin(), ordinals.end()));
}

TEST(StreamTest, ShuffleStaysWithinItsWindowsAndFollowsSeedAndEpoch) {
  TempDir dir;
  const std::string path = dir.Write("a", NumberLines(0, 1000));
  auto read = [&](uint64_t seed, int64_t epoch, int workers) {
    auto dataset =
        MakeDataset({path}, {.batch = {.batch_size = 30, .shuffle_rows = 100, .seed = seed}});
    StatusOr<BatchesByOrdinal> batches = ReadEpoch(*dataset, epoch, workers);
    EXPECT_TRUE(batches.ok()) << batches.status();
    return RowsOf(*batches);
  };
  const std::vector<int> rows = read(1, 0, 1);
  ASSERT_EQ(rows.size(), 1000u);
  // 100 rows are rounded up to 4 batches of 30.
  for (size_t begin = 0; begin < 1000; begin += 120) {
    const size_t end = std::min<size_t>(begin + 120, 1000);
    std::vector<int> window(rows.begin() + begin, rows.begin() + end), expected(end - begin);
    EXPECT_FALSE(std::is_sorted(window.begin(), window.end()));
    std::sort(window.begin(), window.end());
    std::iota(expected.begin(), expected.end(), begin);
    EXPECT_EQ(window, expected);
  }
  EXPECT_EQ(read(1, 0, 3), rows);
  EXPECT_NE(read(1, 1, 1), rows);
  EXPECT_NE(read(2, 0, 1), rows);
}

TEST(StreamTest, BadRowInAShuffledWindowHasItsPlace) {
  TempDir dir;
  const std::string a = dir.Write("a", NumberLines(0, 50));
  const std::string b = dir.Write("b", NumberLines(50, 60) + "bad\n" + NumberLines(60, 90));
  EXPECT_EQ(ErrorOf(*MakeDataset({a, b}, {.batch = {.batch_size = 10, .shuffle_rows = 100}})),
            b + ":11:1: expected a digit, found 'bad'");
}

TEST(StreamTest, ResumesExactlyAfterEveryBatch) {
  TempDir dir;
  const std::vector<std::string> files = {
      dir.Write("a", NumberLines(0, 95)), WriteGzip(dir, "b.gz", NumberLines(95, 160)),
      dir.Write("c", ""), dir.Write("d", NumberLines(160, 200) + "bad\nbad\n" + "201")};
  for (const int readers : {1, 3}) {
    for (const int64_t shuffle : {0, 30}) {
      for (const bool drop_last : {false, true}) {
        SCOPED_TRACE(fmt::format("readers {} shuffle {} drop {}", readers, shuffle, drop_last));
        const StreamOptions options{
            .batch = {.batch_size = 10, .drop_last = drop_last, .shuffle_rows = shuffle},
            .max_bad_rows = 2,
            .readers = readers};
        ExpectResumesExactly([&] { return MakeDataset(files, options); }, 3);
      }
    }
  }
  StreamOptions piped = WithCommand("cat");
  piped.max_bad_rows = 2;
  piped.readers = 2;
  ExpectResumesExactly([&] { return MakeDataset(files, piped); }, 3);
}

TEST(StreamTest, PositionOfOtherDataIsRefused) {
  TempDir dir;
  const std::string a = dir.Write("a", NumberLines(0, 95)), b = dir.Write("b", NumberLines(0, 95));
  auto dataset = MakeDataset({a}, {.batch = {.batch_size = 10}});
  EXPECT_FALSE(dataset->Resume(dataset->position()).ok());  // not inside an epoch
  ASSERT_TRUE(dataset->StartEpoch(0).ok());
  const DatasetPosition position = dataset->position();
  EXPECT_TRUE(MakeDataset({a}, {.batch = {.batch_size = 10}})->Resume(position).ok());
  for (const auto& other : {MakeDataset({b}, {.batch = {.batch_size = 10}}),
                            MakeDataset({a}, {.batch = {.batch_size = 11}}),
                            MakeDataset({a}, {.batch = {.batch_size = 10, .shuffle_rows = 50}}),
                            MakeDataset({a, b}, {.batch = {.batch_size = 10}, .readers = 2})}) {
    EXPECT_EQ(other->Resume(position).code(), absl::StatusCode::kFailedPrecondition);
  }
}

TEST(StreamTest, PositionWhoseBatchesCannotBeIsRefused) {
  TempDir dir;
  const std::string a = dir.Write("a", NumberLines(0, 95));
  for (const int64_t window_batches : {0, 3}) {
    const BatchOptions options{.batch_size = 10, .shuffle_rows = 10 * window_batches};
    auto dataset = MakeDataset({a}, {.batch = options});
    ASSERT_TRUE(dataset->StartEpoch(0).ok());
    DatasetPosition position = dataset->position();
    const int64_t last = std::max<int64_t>(window_batches - 1, 0);
    for (const int64_t next : {int64_t{3}, 3 + last}) {
      position.places[0] = {.batch = 3, .next = next};
      EXPECT_TRUE(dataset->Resume(position).ok());
    }
    // Before the window, behind it, and where counting on would overflow.
    for (const auto& [batch, next] : {std::pair<int64_t, int64_t>{3, 2},
                                      {-1, 0},
                                      {3, 4 + last},
                                      {INT64_MAX, INT64_MAX},
                                      {0, INT64_MAX}}) {
      position.places[0] = {.batch = batch, .next = next};
      EXPECT_EQ(dataset->Resume(position).code(), absl::StatusCode::kFailedPrecondition)
          << batch << " " << next;
    }
  }
}

TEST(StreamTest, StandardInputIsReadOnce) {
  TempDir dir;
  const std::string path = dir.Write("a", NumberLines(0, 25));
  const int before = dup(STDIN_FILENO);
  ASSERT_NE(freopen(path.c_str(), "r", stdin), nullptr);
  auto dataset = MakeDataset({"-"}, {.batch = {.batch_size = 10}});
  StatusOr<BatchesByOrdinal> batches = ReadEpoch(*dataset, 0);
  dup2(before, STDIN_FILENO);
  close(before);
  ASSERT_TRUE(batches.ok()) << batches.status();
  EXPECT_EQ(RowsOf(*batches).size(), 25u);
  EXPECT_THAT(std::string(Message(dataset->StartEpoch(1))), HasSubstr("only once"));
}

TEST(StreamTest, ManyWorkersOnManyShortEpochsNeverMissARow) {
  TempDir dir;
  auto dataset = MakeDataset({dir.Write("a", NumberLines(0, 3)), dir.Write("b", NumberLines(0, 5))},
                             {.batch = {.batch_size = 2}, .readers = 2});
  for (int64_t epoch = 0; epoch < 200; ++epoch) {
    StatusOr<BatchesByOrdinal> batches = ReadEpoch(*dataset, epoch, 4);
    ASSERT_TRUE(batches.ok()) << batches.status();
    ASSERT_EQ(RowsOf(*batches).size(), 8u);
  }
}

// Resident memory of this process, in bytes.
int64_t ResidentBytes() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

// Appends one label per line, regardless of its content.
class ZeroParser : public NumberParser {
 public:
  Status Parse(std::string_view, Batch* batch) const override {
    return NumberParser::Parse("0", batch);
  }
};

TEST(StreamTest, MemoryOfAStreamDoesNotGrowWithItsLength) {
  // 300 MB of lines of 1000 bytes that are never stored on disk.
  StreamOptions options =
      WithCommand("yes \"$(head -c 999 /dev/zero | tr '\\0' x)\" | head -c 300000000");
  options.batch.batch_size = 1000;
  TempDir dir;
  auto dataset = MakeStream({dir.Write("a", "")}, std::make_shared<ZeroParser>(), options);
  ASSERT_TRUE(dataset.ok());
  const int64_t before = ResidentBytes();
  ASSERT_TRUE((*dataset)->StartEpoch(0).ok());
  Batch batch;
  int64_t rows = 0;
  for (; *(*dataset)->Next(0, &batch); rows += batch.rows) {
    ASSERT_LT(ResidentBytes() - before, 30'000'000) << "after " << rows << " rows";
  }
  EXPECT_EQ(rows, 300'000);
}

TEST(StreamTest, AnInterruptedEpochGoesOnAfterTheLastBatch) {
  TempDir dir;
  const std::string go = dir.path() + "/go";
  for (const int64_t shuffle_rows : {0, 4}) {
    Interrupt interrupt;
    StreamOptions options{.batch = {.batch_size = 3, .shuffle_rows = shuffle_rows, .seed = 7}};
    // Blocks in the middle of the third batch, or of the second window, unless it may continue.
    const std::vector<std::string> files = {dir.Write("a", NumberLines(0, 12))};
    options.reader.source.pipe_command =
        "head -n 8 " + files[0] + "; [ -e " + go + " ] || sleep 1000; tail -n 4 " + files[0];
    options.reader.source.interrupt = &interrupt;
    auto dataset = MakeDataset(files, options);
    ASSERT_TRUE(dataset->StartEpoch(0).ok());
    BatchesByOrdinal batches;
    Batch batch;
    bool ids_match = true;
    for (int i = 0; i < 2; ++i) {
      ASSERT_TRUE(*dataset->Next(0, &batch));
      batches.emplace(batch.ordinal, NumbersOf(batch, &ids_match));
    }
    const DatasetPosition before = dataset->position();
    std::thread raiser([&] { interrupt.RaiseSignal(SIGTERM); });
    EXPECT_TRUE(absl::IsCancelled(dataset->Next(0, &batch).status()));
    raiser.join();
    EXPECT_EQ(dataset->position(), before);
    EXPECT_EQ(dataset->counts().rows, 6);

    std::ofstream(go).put('x');
    const Interrupt none;
    options.reader.source.interrupt = &none;
    auto other = MakeDataset(files, options);
    ASSERT_TRUE(other->Resume(before).ok());
    StatusOr<BatchesByOrdinal> rest = ReadRest(*other, 0, 1);
    ASSERT_TRUE(rest.ok()) << rest.status();
    batches.merge(*rest);
    EXPECT_EQ(batches, *ReadEpoch(*other, 0));
    EXPECT_EQ(other->counts().rows, 12);
    std::filesystem::remove(go);
  }
}

}  // namespace
}  // namespace flotilla
