#include "flotilla/dataset/text_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <numeric>
#include <thread>

#include "flotilla/dataset/test_data.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

using BatchesByOrdinal = std::map<int64_t, std::vector<int>>;

std::unique_ptr<TextDataset> MakeDataset(std::vector<std::string> files,
                                         const TextDatasetOptions& options) {
  StatusOr<std::unique_ptr<TextDataset>> dataset =
      TextDataset::Make(std::move(files), std::make_shared<NumberParser>(), options);
  EXPECT_TRUE(dataset.ok()) << dataset.status();
  return *std::move(dataset);
}

// One epoch read by several workers at once, or the first error that one of them met.
StatusOr<BatchesByOrdinal> ReadEpoch(Dataset& dataset, int64_t epoch, int workers) {
  FL_RETURN_IF_ERROR(dataset.StartEpoch(epoch));
  BatchesByOrdinal batches;
  Status error;
  bool ids_match = true;
  std::mutex mutex;
  std::vector<std::thread> threads;
  for (int worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&, worker] {
      Batch batch;
      while (true) {
        StatusOr<bool> more = dataset.Next(worker, &batch);
        std::lock_guard lock(mutex);
        if (!more.ok() && error.ok()) error = more.status();
        if (!more.ok() || !*more) return;
        EXPECT_EQ(batch.epoch, epoch);
        EXPECT_TRUE(batch.Check(dataset.inputs()).ok());
        EXPECT_TRUE(batches.emplace(batch.ordinal, NumbersOf(batch, &ids_match)).second);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(ids_match);
  FL_RETURN_IF_ERROR(error);
  return batches;
}

std::string ErrorOf(Dataset& dataset, int workers = 1) {
  return std::string(Message(ReadEpoch(dataset, 0, workers).status()));
}

TEST(TextDatasetTest, BatchesFollowTheFilesAndCrossTheirBorders) {
  TempDir dir;
  auto dataset = MakeDataset({dir.Write("a", NumberLines(0, 5)), dir.Write("b", NumberLines(5, 8))},
                             {.batch_size = 3});
  for (int64_t epoch : {0, 1}) {
    StatusOr<BatchesByOrdinal> batches = ReadEpoch(*dataset, epoch, 1);
    ASSERT_TRUE(batches.ok()) << batches.status();
    EXPECT_THAT(*batches, ElementsAre(Pair(0, ElementsAre(0, 1, 2)), Pair(1, ElementsAre(3, 4, 5)),
                                      Pair(2, ElementsAre(6, 7))));
    EXPECT_EQ(dataset->counts(), (DatasetCounts{.rows = 8}));
  }
}

TEST(TextDatasetTest, BatchesDoNotDependOnTheNumberOfWorkers) {
  TempDir dir;
  auto dataset =
      MakeDataset({dir.Write("a", NumberLines(0, 700)), dir.Write("b", NumberLines(700, 1999))},
                  {.batch_size = 7});
  StatusOr<BatchesByOrdinal> one = ReadEpoch(*dataset, 0, 1);
  StatusOr<BatchesByOrdinal> four = ReadEpoch(*dataset, 0, 4);
  ASSERT_TRUE(one.ok() && four.ok());
  EXPECT_EQ(one->size(), 286u);
  EXPECT_EQ(*one, *four);
  EXPECT_EQ(dataset->counts().rows, 1999);
}

TEST(TextDatasetTest, ShortLastBatchIsDroppedAndCountedWhenTold) {
  TempDir dir;
  auto dataset =
      MakeDataset({dir.Write("a", NumberLines(0, 8))}, {.batch_size = 3, .drop_last = true});
  StatusOr<BatchesByOrdinal> batches = ReadEpoch(*dataset, 0, 2);
  ASSERT_TRUE(batches.ok()) << batches.status();
  EXPECT_EQ(batches->size(), 2u);
  EXPECT_EQ(dataset->counts(), (DatasetCounts{.rows = 6, .dropped = 2}));
}

TEST(TextDatasetTest, BadRowStopsWithFileLineAndColumn) {
  TempDir dir;
  const std::string path = dir.Write("b", "5\n6\nx7\n8\n");
  auto dataset = MakeDataset({dir.Write("a", "1\n2\n"), path}, {.batch_size = 10});
  EXPECT_EQ(ErrorOf(*dataset), path + ":3:1: expected a digit, found 'x7'");
}

TEST(TextDatasetTest, FirstErrorStaysUntilTheNextEpoch) {
  TempDir dir;
  auto dataset = MakeDataset({dir.Write("a", "bad\n1\n2\n3\n")}, {.batch_size = 1});
  Batch batch;
  ASSERT_TRUE(dataset->StartEpoch(0).ok());
  const Status first = dataset->Next(0, &batch).status();
  EXPECT_FALSE(first.ok());
  EXPECT_EQ(dataset->Next(1, &batch).status(), first);
  ASSERT_TRUE(dataset->StartEpoch(1).ok());
  EXPECT_FALSE(dataset->Next(0, &batch).ok());
}

TEST(TextDatasetTest, BadRowsWithinTheLimitAreSkippedAndCounted) {
  TempDir dir;
  auto dataset = MakeDataset({dir.Write("a", "0\nbad\n2 20 21\n\n4 40\nbad\nbad\n")},
                             {.batch_size = 2, .max_bad_rows = 4});
  StatusOr<BatchesByOrdinal> batches = ReadEpoch(*dataset, 0, 2);
  ASSERT_TRUE(batches.ok()) << batches.status();
  // The last line is a batch of its own, has no good row and is passed over.
  EXPECT_THAT(*batches, ElementsAre(Pair(0, ElementsAre(0)), Pair(1, ElementsAre(2)),
                                    Pair(2, ElementsAre(4))));
  EXPECT_EQ(dataset->counts(), (DatasetCounts{.rows = 3, .skipped = 4}));
}

TEST(TextDatasetTest, OneBadRowTooManyStops) {
  TempDir dir;
  const std::string path = dir.Write("a", "0\nbad\nbad\nbad\n");
  auto dataset = MakeDataset({path}, {.batch_size = 2, .max_bad_rows = 2});
  EXPECT_EQ(ErrorOf(*dataset),
            "more than 2 bad rows: " + path + ":4:1: expected a digit, found 'bad'");
}

TEST(TextDatasetTest, EpochWithoutRowsIsAnError) {
  TempDir dir;
  const std::string empty = dir.Write("a", "");
  EXPECT_THAT(ErrorOf(*MakeDataset({empty, empty}, {}), 2),
              HasSubstr("no rows in 2 file(s), first " + empty));
  auto all_bad =
      MakeDataset({dir.Write("b", "bad\nbad\nbad\n")}, {.batch_size = 1, .max_bad_rows = 100});
  EXPECT_THAT(ErrorOf(*all_bad, 3), HasSubstr("3 bad rows skipped"));
  auto dropped = MakeDataset({dir.Write("c", "1\n2\n")}, {.batch_size = 3, .drop_last = true});
  EXPECT_THAT(ErrorOf(*dropped, 2), HasSubstr("2 rows dropped as a short last batch"));
}

TEST(TextDatasetTest, MissingFileIsAnErrorOfTheEpoch) {
  TempDir dir;
  auto dataset = MakeDataset({dir.path() + "/none"}, {});
  EXPECT_THAT(ErrorOf(*dataset, 2), HasSubstr("/none: no such file"));
}

TEST(TextDatasetTest, CarriageReturnsAndAMissingLastNewlineAreNoBadRows) {
  TempDir dir;
  auto dataset = MakeDataset({dir.Write("a", "1 10\r\n2 20 21\r\n3")}, {.batch_size = 10});
  StatusOr<BatchesByOrdinal> batches = ReadEpoch(*dataset, 0, 1);
  ASSERT_TRUE(batches.ok()) << batches.status();
  EXPECT_THAT(*batches, ElementsAre(Pair(0, ElementsAre(1, 2, 3))));
}

TEST(TextDatasetTest, EndOfEpochIsToldAgainAndAnEpochCanBeLeftEarly) {
  TempDir dir;
  auto dataset = MakeDataset({dir.Write("a", NumberLines(0, 4))}, {.batch_size = 2});
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

TEST(TextDatasetTest, WrongUseIsAnError) {
  const auto parser = std::make_shared<NumberParser>();
  EXPECT_THAT(std::string(Message(TextDataset::Make({}, parser, {}).status())),
              HasSubstr("no files"));
  EXPECT_THAT(std::string(Message(TextDataset::Make({"a"}, parser, {.batch_size = 0}).status())),
              HasSubstr("batch_size 0"));
  auto dataset = MakeDataset({"a"}, {});
  Batch batch;
  EXPECT_EQ(dataset->Next(0, &batch).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(dataset->StartEpoch(-1).code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace flotilla
