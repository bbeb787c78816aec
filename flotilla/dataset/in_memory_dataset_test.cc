#include "flotilla/dataset/in_memory_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <thread>

#include "flotilla/dataset/test_data.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

StatusOr<std::unique_ptr<InMemoryDataset>> Load(std::vector<std::string> files,
                                                const InMemoryOptions& options) {
  return InMemoryDataset::Load(std::move(files), std::make_shared<NumberParser>(), options);
}

// The numbers of all batches of an epoch, one after another.
std::vector<int> ReadEpoch(Dataset& dataset, int64_t epoch) {
  EXPECT_TRUE(dataset.StartEpoch(epoch).ok());
  Batch batch;
  std::vector<int> all;
  bool ids_match = true;
  for (int64_t ordinal = 0;; ++ordinal) {
    StatusOr<bool> more = dataset.Next(0, &batch);
    EXPECT_TRUE(more.ok()) << more.status();
    if (!more.ok() || !*more) break;
    EXPECT_EQ(batch.ordinal, ordinal);
    EXPECT_EQ(batch.epoch, epoch);
    EXPECT_TRUE(batch.Check(dataset.inputs()).ok());
    const std::vector<int> numbers = NumbersOf(batch, &ids_match);
    all.insert(all.end(), numbers.begin(), numbers.end());
  }
  EXPECT_TRUE(ids_match);
  return all;
}

std::vector<int> Iota(int n) {
  std::vector<int> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST(InMemoryDatasetTest, RowsComeInTheOrderOfTheFiles) {
  TempDir dir;
  auto dataset = Load({dir.Write("a", NumberLines(0, 11)), dir.Write("b", NumberLines(11, 25))},
                      {.batch_size = 4});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ((*dataset)->rows().rows, 25);
  EXPECT_EQ(ReadEpoch(**dataset, 0), Iota(25));
  EXPECT_EQ(ReadEpoch(**dataset, 1), Iota(25));
  EXPECT_EQ((*dataset)->counts(), (DatasetCounts{.rows = 25}));
}

TEST(InMemoryDatasetTest, LoadOnSeveralThreadsGivesTheSameRows) {
  TempDir dir;
  const std::string path = dir.Write("a", NumberLines(0, 30000));
  for (int threads : {1, 3}) {
    auto dataset = Load({path}, {.batch_size = 1000, .threads = threads});
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_EQ(ReadEpoch(**dataset, 0), Iota(30000));
  }
}

TEST(InMemoryDatasetTest, ShuffleGivesEveryRowOnceInAnOrderOfTheSeedAndEpoch) {
  TempDir dir;
  const std::string path = dir.Write("a", NumberLines(0, 1000));
  auto load = [&](uint64_t seed) {
    auto dataset = Load({path}, {.batch_size = 32, .shuffle = true, .seed = seed});
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    return *std::move(dataset);
  };
  auto dataset = load(1);
  const std::vector<int> first = ReadEpoch(*dataset, 0);
  const std::vector<int> second = ReadEpoch(*dataset, 1);
  EXPECT_NE(first, Iota(1000));
  EXPECT_NE(first, second);
  EXPECT_EQ(ReadEpoch(*dataset, 0), first);
  EXPECT_EQ(ReadEpoch(*load(1), 1), second);
  EXPECT_NE(ReadEpoch(*load(2), 0), first);
  std::vector<int> sorted = first;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, Iota(1000));
}

TEST(InMemoryDatasetTest, ShuffleIsUniformOverPlaces) {
  TempDir dir;
  auto dataset = Load({dir.Write("a", NumberLines(0, 4))}, {.batch_size = 4, .shuffle = true});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  int count[4][4] = {};
  constexpr int kEpochs = 4000;
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const std::vector<int> order = ReadEpoch(**dataset, epoch);
    for (int place = 0; place < 4; ++place) ++count[order[place]][place];
  }
  // 1000 expected, deviation 27.
  for (auto& row : count) {
    for (int n : row) EXPECT_NEAR(n, kEpochs / 4, 140);
  }
}

TEST(InMemoryDatasetTest, WorkersTogetherGetEachBatchOnce) {
  TempDir dir;
  auto dataset = Load({dir.Write("a", NumberLines(0, 5000))}, {.batch_size = 7, .shuffle = true});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const std::vector<int> alone = ReadEpoch(**dataset, 3);
  ASSERT_TRUE((*dataset)->StartEpoch(3).ok());
  std::vector<std::map<int64_t, std::vector<int>>> got(3);
  std::vector<std::thread> threads;
  for (int worker = 0; worker < 3; ++worker) {
    threads.emplace_back([&, worker] {
      Batch batch;
      bool ids_match = true;
      while (*(*dataset)->Next(worker, &batch)) {
        got[worker][batch.ordinal] = NumbersOf(batch, &ids_match);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::map<int64_t, std::vector<int>> joined = got[0];
  joined.merge(got[1]);
  joined.merge(got[2]);
  EXPECT_TRUE(got[1].empty() && got[2].empty());
  std::vector<int> together;
  for (const auto& [ordinal, numbers] : joined) {
    together.insert(together.end(), numbers.begin(), numbers.end());
  }
  EXPECT_EQ(together, alone);
}

TEST(InMemoryDatasetTest, ShortLastBatchIsDroppedAndCountedWhenTold) {
  TempDir dir;
  auto dataset = Load({dir.Write("a", NumberLines(0, 11))}, {.batch_size = 4, .drop_last = true});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(ReadEpoch(**dataset, 0), Iota(8));
  EXPECT_EQ((*dataset)->counts(), (DatasetCounts{.rows = 8, .dropped = 3}));
}

TEST(InMemoryDatasetTest, SkippedRowsAreCountedInEveryEpoch) {
  TempDir dir;
  auto dataset = Load({dir.Write("a", "0\nbad\n1 10\n")}, {.batch_size = 4, .max_bad_rows = 1});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  for (int64_t epoch : {0, 1}) {
    EXPECT_EQ(ReadEpoch(**dataset, epoch), Iota(2));
    EXPECT_EQ((*dataset)->counts(), (DatasetCounts{.rows = 2, .skipped = 1}));
  }
}

TEST(InMemoryDatasetTest, LoadErrorsNameTheirCause) {
  TempDir dir;
  const std::string bad = dir.Write("a", "0\n1 10\nbad\n");
  auto error = [](const StatusOr<std::unique_ptr<InMemoryDataset>>& dataset) {
    return std::string(Message(dataset.status()));
  };
  EXPECT_EQ(error(Load({bad}, {})), bad + ":3:1: expected a digit, found 'bad'");
  EXPECT_EQ(error(Load({bad}, {.threads = 3})), bad + ":3:1: expected a digit, found 'bad'");
  EXPECT_THAT(error(Load({dir.path() + "/none"}, {})), HasSubstr("/none: no such file"));
  EXPECT_THAT(error(Load({dir.Write("e", "")}, {})), HasSubstr("no rows in 1 file(s)"));
  EXPECT_THAT(error(Load({}, {})), HasSubstr("no files"));
  EXPECT_THAT(error(Load({dir.Write("s", "1 10\n")}, {.batch_size = 2, .drop_last = true})),
              HasSubstr("1 rows are fewer than batch_size 2"));
  EXPECT_THAT(error(Load({dir.Write("s", "1 10\n")}, {.batch_size = 0})),
              HasSubstr("batch_size 0"));
}

TEST(InMemoryDatasetTest, FromRowsTakesRowsThatFitTheInputs) {
  Batch rows;
  rows.rows = 3;
  rows.fields.resize(1);
  rows.fields[0].values = {1, 2, 3};
  auto dataset = InMemoryDataset::FromRows({{"x", InputKind::kDense, 1}}, rows, {.batch_size = 2});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  Batch batch;
  ASSERT_TRUE((*dataset)->StartEpoch(0).ok());
  ASSERT_TRUE(*(*dataset)->Next(0, &batch));
  EXPECT_THAT(batch.fields[0].values, ElementsAre(1, 2));
  EXPECT_FALSE(InMemoryDataset::FromRows({{"x", InputKind::kDense, 2}}, rows, {}).ok());
  EXPECT_FALSE(InMemoryDataset::FromRows({{"x", InputKind::kDense, 1}}, Batch(), {}).ok());
}

TEST(InMemoryDatasetTest, NextBeforeStartEpochIsAnError) {
  TempDir dir;
  auto dataset = Load({dir.Write("a", "1 10\n")}, {});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  Batch batch;
  EXPECT_EQ((*dataset)->Next(0, &batch).status().code(), absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace flotilla
