#include "flotilla/dataset/in_memory_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <thread>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/dataset/read_testing.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

StatusOr<std::unique_ptr<InMemoryDataset>> Load(std::vector<std::string> files,
                                                const StreamOptions& options) {
  return InMemoryDataset::Load(std::move(files), std::make_shared<NumberParser>(), options);
}

// The numbers of all batches of an epoch, one after another.
std::vector<int> ReadInOrder(Dataset& dataset, int64_t epoch) {
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

TEST(InMemoryDatasetTest, RowsComeInTheOrderOfTheFiles) {
  TempDir dir;
  auto dataset = Load({dir.Write("a", NumberLines(0, 11)), dir.Write("b", NumberLines(11, 25))},
                      {.batch = {.batch_size = 4}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ((*dataset)->rows(), 25);
  EXPECT_EQ(ReadInOrder(**dataset, 0), Iota(25));
  EXPECT_EQ(ReadInOrder(**dataset, 1), Iota(25));
  EXPECT_EQ((*dataset)->counts(), (DatasetCounts{.rows = 25}));
}

TEST(InMemoryDatasetTest, LoadOnSeveralThreadsGivesTheSameRows) {
  TempDir dir;
  const std::string path = dir.Write("a", NumberLines(0, 30000));
  for (int threads : {1, 3}) {
    auto dataset = Load({path}, {.batch = {.batch_size = 1000}, .threads = threads});
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_EQ(ReadInOrder(**dataset, 0), Iota(30000));
  }
}

TEST(InMemoryDatasetTest, ShuffleGivesEveryRowOnceInAnOrderOfTheSeedAndEpoch) {
  TempDir dir;
  const std::string path = dir.Write("a", NumberLines(0, 1000));
  auto load = [&](uint64_t seed) {
    auto dataset =
        Load({path}, {.batch = {.batch_size = 32, .shuffle_rows = kWholeEpoch, .seed = seed}});
    EXPECT_TRUE(dataset.ok()) << dataset.status();
    return *std::move(dataset);
  };
  auto dataset = load(1);
  const std::vector<int> first = ReadInOrder(*dataset, 0);
  const std::vector<int> second = ReadInOrder(*dataset, 1);
  EXPECT_NE(first, Iota(1000));
  EXPECT_NE(first, second);
  EXPECT_EQ(ReadInOrder(*dataset, 0), first);
  EXPECT_EQ(ReadInOrder(*load(1), 1), second);
  EXPECT_NE(ReadInOrder(*load(2), 0), first);
  std::vector<int> sorted = first;
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, Iota(1000));
}

TEST(InMemoryDatasetTest, ShuffleIsUniformOverPlaces) {
  TempDir dir;
  auto dataset = Load({dir.Write("a", NumberLines(0, 4))},
                      {.batch = {.batch_size = 4, .shuffle_rows = kWholeEpoch}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  int count[4][4] = {};
  constexpr int kEpochs = 4000;
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    const std::vector<int> order = ReadInOrder(**dataset, epoch);
    for (int place = 0; place < 4; ++place) ++count[order[place]][place];
  }
  // 1000 expected, deviation 27.
  for (auto& row : count) {
    for (int n : row) EXPECT_NEAR(n, kEpochs / 4, 140);
  }
}

TEST(InMemoryDatasetTest, WorkersTogetherGetEachBatchOnce) {
  TempDir dir;
  auto dataset = Load({dir.Write("a", NumberLines(0, 5000))},
                      {.batch = {.batch_size = 7, .shuffle_rows = kWholeEpoch}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  const std::vector<int> alone = ReadInOrder(**dataset, 3);
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
  auto dataset =
      Load({dir.Write("a", NumberLines(0, 11))}, {.batch = {.batch_size = 4, .drop_last = true}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(ReadInOrder(**dataset, 0), Iota(8));
  EXPECT_EQ((*dataset)->counts(), (DatasetCounts{.rows = 8, .dropped = 3}));
  EXPECT_EQ((*dataset)->epoch_batches(), 2);
  dataset = Load({dir.path() + "/a"}, {.batch = {.batch_size = 4}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ((*dataset)->epoch_batches(), 3);
}

TEST(InMemoryDatasetTest, SkippedRowsAreCountedInEveryEpoch) {
  TempDir dir;
  auto dataset =
      Load({dir.Write("a", "0\nbad\n1 10\n")}, {.batch = {.batch_size = 4}, .max_bad_rows = 1});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  for (int64_t epoch : {0, 1}) {
    EXPECT_EQ(ReadInOrder(**dataset, epoch), Iota(2));
    EXPECT_EQ((*dataset)->counts().rows, 2);
    EXPECT_EQ((*dataset)->counts().skipped, 1);
    EXPECT_THAT((*dataset)->counts().samples, ElementsAre(HasSubstr("a:2:1: expected a digit")));
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
  EXPECT_THAT(
      error(Load({dir.Write("s", "1 10\n")}, {.batch = {.batch_size = 2, .drop_last = true}})),
      HasSubstr("1 rows are fewer than batch_size 2"));
  EXPECT_THAT(error(Load({dir.Write("s", "1 10\n")}, {.batch = {.batch_size = 0}})),
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

TEST(InMemoryDatasetTest, SeveralReadersGiveTheOrderOfTheFiles) {
  TempDir dir;
  std::vector<std::string> files;
  for (int i = 0; i < 5; ++i) {
    files.push_back(dir.Write(fmt::format("f{}", i), NumberLines(9000 * i, 9000 * i + 9000)));
  }
  StreamOptions options{.readers = 2, .threads = 3};
  options.reader.source.pipe_command = "cat";
  auto dataset = Load(files, options);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_EQ(ReadInOrder(**dataset, 0), Iota(45000));
}

TEST(InMemoryDatasetTest, LoadThroughTheCacheGivesTheSameRows) {
  TempDir dir;
  const std::string path = dir.Write("a", NumberLines(0, 5000));
  std::vector<std::string> log;
  for (int run = 0; run < 2; ++run) {
    StreamOptions options{.cache = dir.path() + "/cache", .threads = 2};
    options.log = [&](std::string_view line) { log.emplace_back(line); };
    auto dataset = Load({path}, options);
    ASSERT_TRUE(dataset.ok()) << dataset.status();
    EXPECT_EQ(ReadInOrder(**dataset, 0), Iota(5000));
  }
  EXPECT_EQ(log.size(), 1u);  // built once
}

TEST(InMemoryDatasetTest, PreloadReturnsBeforeTheRowsAreThere) {
  TempDir dir;
  const std::string fifo = dir.path() + "/fifo";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  auto dataset = InMemoryDataset::Preload({fifo}, std::make_shared<NumberParser>(), {});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  std::ofstream(fifo) << NumberLines(0, 50);  // waits for the reader
  EXPECT_TRUE((*dataset)->WaitPreload().ok());
  EXPECT_EQ((*dataset)->rows(), 50);
  EXPECT_EQ(ReadInOrder(**dataset, 0), Iota(50));
}

TEST(InMemoryDatasetTest, StartEpochWaitsForAPreloadAndTellsItsError) {
  TempDir dir;
  auto dataset = InMemoryDataset::Preload({dir.Write("a", NumberLines(0, 20000))},
                                          std::make_shared<NumberParser>(), {});
  EXPECT_EQ(ReadInOrder(**dataset, 0), Iota(20000));
  auto failed =
      InMemoryDataset::Preload({dir.path() + "/none"}, std::make_shared<NumberParser>(), {});
  ASSERT_TRUE(failed.ok());
  EXPECT_THAT(std::string(Message((*failed)->StartEpoch(0))), HasSubstr("/none: no such file"));
  EXPECT_FALSE((*failed)->WaitPreload().ok());
  EXPECT_FALSE((*failed)->LocalShuffle(0).ok());
}

TEST(InMemoryDatasetTest, PreloadIsGivenUpWithTheDataset) {
  TempDir dir;
  StreamOptions options;
  options.reader.source.pipe_command = "yes '1 10'";  // endless output
  auto dataset =
      InMemoryDataset::Preload({dir.Write("a", "")}, std::make_shared<NumberParser>(), options);
  ASSERT_TRUE(dataset.ok());
  dataset->reset();
}

TEST(InMemoryDatasetTest, LocalShuffleReordersTheRowsByItsRound) {
  TempDir dir;
  const std::string path = dir.Write("a", NumberLines(0, 1000));
  auto shuffled = [&](std::vector<uint64_t> rounds) {
    auto dataset = Load({path}, {.batch = {.batch_size = 100, .seed = 1}});
    for (uint64_t round : rounds) EXPECT_TRUE((*dataset)->LocalShuffle(round).ok());
    return ReadInOrder(**dataset, 0);
  };
  std::vector<int> once = shuffled({0});
  EXPECT_NE(once, Iota(1000));
  EXPECT_EQ(shuffled({0}), once);
  EXPECT_NE(shuffled({1}), once);
  EXPECT_NE(shuffled({0, 0}), once);
  std::sort(once.begin(), once.end());
  EXPECT_EQ(once, Iota(1000));
}

TEST(InMemoryDatasetTest, SlotsShuffleMovesTheNamedInputOnly) {
  TempDir dir;
  auto make = [&] { return *Load({dir.Write("a", NumberLines(0, 1000))}, {}); };
  auto dataset = make();
  const Batch before = dataset->CopyRows();
  EXPECT_EQ(dataset->SlotsShuffle(std::vector<std::string>{"ids", "none"}, 0).code(),
            absl::StatusCode::kNotFound);
  EXPECT_EQ(dataset->CopyRows().fields[1].ids.ids, before.fields[1].ids.ids);
  ASSERT_TRUE(dataset->SlotsShuffle(std::vector<std::string>{"ids"}, 0).ok());
  const Batch after = dataset->CopyRows();
  EXPECT_EQ(after.fields[0].values, before.fields[0].values);
  EXPECT_NE(after.fields[1].ids.ids, before.fields[1].ids.ids);
  // Every row's ids stay together.
  std::multiset<std::vector<uint64_t>> was, is;
  for (int64_t row = 0; row < 1000; ++row) {
    const auto a = before.fields[1].ids.row(row), b = after.fields[1].ids.row(row);
    was.emplace(a.begin(), a.end());
    is.emplace(b.begin(), b.end());
  }
  EXPECT_EQ(is, was);
  auto again = make();
  ASSERT_TRUE(again->SlotsShuffle(std::vector<std::string>{"ids"}, 0).ok());
  EXPECT_EQ(again->CopyRows().fields[1].ids.ids, after.fields[1].ids.ids);
  ASSERT_TRUE(again->SlotsShuffle(std::vector<std::string>{"label"}, 1).ok());
  EXPECT_NE(again->CopyRows().fields[0].values, before.fields[0].values);
}

// Trainers in one process that exchange rows through shared memory.
class SharedExchange {
 public:
  explicit SharedExchange(int trainers)
      : trainers_(trainers), barrier_(trainers), sent_(trainers) {}

  class Side : public RowExchange {
   public:
    Side(SharedExchange* shared, int trainer) : shared_(shared), trainer_(trainer) {}
    int trainers() const override { return shared_->trainers_; }
    int trainer() const override { return trainer_; }
    StatusOr<std::vector<Batch>> Exchange(std::vector<Batch> outgoing) override {
      shared_->sent_[trainer_] = std::move(outgoing);
      shared_->barrier_.arrive_and_wait();
      std::vector<Batch> incoming;
      for (auto& sent : shared_->sent_) incoming.push_back(sent[trainer_]);
      shared_->barrier_.arrive_and_wait();
      if (shared_->fails) return FailedPrecondition("a trainer was lost");
      return incoming;
    }

   private:
    SharedExchange* const shared_;
    const int trainer_;
  };

  bool fails = false;

 private:
  const int trainers_;
  std::barrier<> barrier_;
  std::vector<std::vector<Batch>> sent_;
};

std::vector<std::vector<int>> GloballyShuffled(const TempDir& dir, uint64_t round, bool fails) {
  SharedExchange shared(3);
  shared.fails = fails;
  std::vector<std::vector<int>> rows(3);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    const std::string path =
        dir.Write(fmt::format("part-{}", t), NumberLines(1000 * t, 1000 * t + 1000));
    threads.emplace_back([&, t, path] {
      auto dataset = Load({path}, {.batch = {.batch_size = 100, .seed = 4}});
      SharedExchange::Side side(&shared, t);
      EXPECT_EQ((*dataset)->GlobalShuffle(round, &side).ok(), !fails);
      rows[t] = ReadInOrder(**dataset, 0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return rows;
}

TEST(InMemoryDatasetTest, GlobalShuffleSpreadsTheRowsOfAllTrainers) {
  TempDir dir;
  const std::vector<std::vector<int>> rows = GloballyShuffled(dir, 0, false);
  std::vector<int> all;
  for (const std::vector<int>& of_trainer : rows) {
    EXPECT_NEAR(static_cast<double>(of_trainer.size()), 1000, 110);  // deviation 26
    EXPECT_FALSE(std::is_sorted(of_trainer.begin(), of_trainer.end()));
    // About the same number from every trainer: 333 expected, deviation 15.
    for (int from = 0; from < 3; ++from) {
      EXPECT_NEAR(std::count_if(of_trainer.begin(), of_trainer.end(),
                                [&](int row) { return row / 1000 == from; }),
                  333, 65);
    }
    all.insert(all.end(), of_trainer.begin(), of_trainer.end());
  }
  std::sort(all.begin(), all.end());
  EXPECT_EQ(all, Iota(3000));
  EXPECT_EQ(GloballyShuffled(dir, 0, false), rows);
  EXPECT_NE(GloballyShuffled(dir, 1, false), rows);
}

TEST(InMemoryDatasetTest, FailedExchangeLeavesTheRowsAsTheyWere) {
  TempDir dir;
  const std::vector<std::vector<int>> rows = GloballyShuffled(dir, 0, true);
  EXPECT_EQ(rows[0], Iota(1000));
}

TEST(InMemoryDatasetTest, ReleasedMemoryIsGoneAndSaysSo) {
  TempDir dir;
  auto dataset =
      Load({dir.Write("a", NumberLines(0, 1000))}, {.batch = {.shuffle_rows = kWholeEpoch}});
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  ASSERT_TRUE((*dataset)->StartEpoch(0).ok());
  // 1000 labels, 999 ids, 1000 numbers of ids, 1000 beginnings of rows.
  constexpr int64_t kBytes = 4000 + 8 * 999 + 4000 + 4000;
  EXPECT_GE((*dataset)->memory_bytes(), kBytes);
  EXPECT_LE((*dataset)->memory_bytes(), kBytes + 100);
  (*dataset)->ReleaseMemory();
  EXPECT_EQ((*dataset)->memory_bytes(), 0);
  EXPECT_EQ((*dataset)->rows(), 0);
  EXPECT_THAT(std::string(Message((*dataset)->StartEpoch(1))), HasSubstr("were released"));
}

TEST(InMemoryDatasetTest, ResumesExactlyAfterEveryBatch) {
  TempDir dir;
  const std::string path = dir.Write("a", NumberLines(0, 100) + "bad\n");
  for (const bool shuffle : {false, true}) {
    for (const bool drop_last : {false, true}) {
      ExpectResumesExactly(
          [&] {
            return *Load({path}, {.batch = {.batch_size = 9,
                                            .drop_last = drop_last,
                                            .shuffle_rows = shuffle ? kWholeEpoch : 0},
                                  .max_bad_rows = 1});
          },
          4, /*without_places=*/true);
    }
  }
}

TEST(InMemoryDatasetTest, WindowsAreShuffledAfterALocalShuffle) {
  TempDir dir;
  const std::string path = dir.Write("a", NumberLines(0, 100));
  auto rows = [&](int64_t shuffle_rows) {
    auto dataset = Load({path}, {.batch = {.batch_size = 10, .shuffle_rows = shuffle_rows}});
    EXPECT_TRUE((*dataset)->LocalShuffle(0).ok());
    return ReadInOrder(**dataset, 0);
  };
  const std::vector<int> in_order = rows(0), in_windows = rows(20);
  EXPECT_NE(in_windows, in_order);
  for (int begin = 0; begin < 100; begin += 20) {
    EXPECT_TRUE(std::is_permutation(in_windows.begin() + begin, in_windows.begin() + begin + 20,
                                    in_order.begin() + begin));
  }
}

TEST(InMemoryDatasetTest, RowsThatChangeEndTheEpoch) {
  TempDir dir;
  auto dataset = *Load({dir.Write("a", NumberLines(0, 100))}, {.batch = {.batch_size = 10}});
  Batch batch;
  ASSERT_TRUE(dataset->StartEpoch(0).ok());
  ASSERT_TRUE(*dataset->Next(0, &batch));
  ASSERT_TRUE(dataset->LocalShuffle(0).ok());
  EXPECT_EQ(dataset->Next(0, &batch).status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReadInOrder(*dataset, 0).size(), 100u);
}

TEST(InMemoryDatasetTest, PositionBelongsToTheShufflesBeforeIt) {
  TempDir dir;
  auto make = [&] {
    return *Load({dir.Write("a", NumberLines(0, 100))}, {.batch = {.batch_size = 9}});
  };
  auto dataset = make(), other = make();
  ASSERT_TRUE(dataset->LocalShuffle(7).ok());
  ASSERT_TRUE(dataset->StartEpoch(0).ok());
  EXPECT_EQ(other->Resume(dataset->position()).code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_TRUE(other->LocalShuffle(7).ok());
  EXPECT_TRUE(other->Resume(dataset->position()).ok());
}

// The options of two consumers of the same rows.
const BatchOptions kTrainOptions{.batch_size = 7, .shuffle_rows = kWholeEpoch, .seed = 3};
const BatchOptions kOtherOptions{
    .batch_size = 32, .drop_last = true, .shuffle_rows = 64, .seed = 4};

TEST(InMemoryViewTest, GivesTheBatchesOfADatasetOfItsOwn) {
  TempDir dir;
  const std::string path = dir.Write("a", NumberLines(0, 1000) + "bad\n");
  const auto load = [&](const BatchOptions& options) {
    return *Load({path}, {.batch = options, .max_bad_rows = 1, .threads = 2});
  };
  auto owner = load({.batch_size = 100});
  auto a = *owner->View(kTrainOptions), b = *owner->View(kOtherOptions);
  auto alone_a = load(kTrainOptions), alone_b = load(kOtherOptions);
  for (const int64_t epoch : {0, 1, 5}) {
    // Both epochs are under way at the same time, b on another worker's thread.
    ASSERT_TRUE(a->StartEpoch(epoch).ok());
    ASSERT_TRUE(b->StartEpoch(epoch + 1).ok());
    StatusOr<BatchesByOrdinal> of_b;
    std::thread reads_b([&] { of_b = ReadRest(*b, epoch + 1, 1); });
    const StatusOr<BatchesByOrdinal> of_a = ReadRest(*a, epoch, 2);
    reads_b.join();
    EXPECT_EQ(*of_a, *ReadEpoch(*alone_a, epoch));
    EXPECT_EQ(*of_b, *ReadEpoch(*alone_b, epoch + 1));
    EXPECT_EQ(a->counts(), alone_a->counts());
    EXPECT_EQ(b->counts(), alone_b->counts());
    EXPECT_EQ(b->epoch_batches(), alone_b->epoch_batches());
  }
  // Positions are interchangeable too.
  EXPECT_TRUE(alone_a->Resume(a->position()).ok());
  EXPECT_FALSE(alone_a->Resume(b->position()).ok());
}

TEST(InMemoryViewTest, OfSomeRowsHasExactlyThem) {
  TempDir dir;
  auto owner = *Load({dir.Write("a", NumberLines(0, 1000))}, {.batch = {.batch_size = 100}});
  std::vector<uint32_t> held_back, rest;
  for (uint32_t row = 0; row < 1000; ++row) {
    (row >= 600 && row < 700 ? held_back : rest).push_back(row);
  }
  auto test = *owner->View({.batch_size = 30}, held_back);
  auto train = *owner->View(kTrainOptions, rest);
  EXPECT_EQ(test->rows(), 100);
  std::vector<int> expected(100);
  std::iota(expected.begin(), expected.end(), 600);
  EXPECT_EQ(ReadInOrder(*test, 0), expected);
  EXPECT_EQ(test->epoch_batches(), 4);

  // The same rows from a file of their own, in the same order.
  auto alone = *Load({dir.Write("b", NumberLines(0, 600)), dir.Write("c", NumberLines(700, 1000))},
                     {.batch = kTrainOptions});
  for (const int64_t epoch : {0, 1}) {
    EXPECT_EQ(*ReadEpoch(*train, epoch, 2), *ReadEpoch(*alone, epoch));
  }
  // A view of a view, in an order of its own, counts within the view.
  auto inner = *test->View({.batch_size = 5}, {99, 0, 50});
  EXPECT_EQ(ReadInOrder(*inner, 0), (std::vector<int>{699, 600, 650}));
  const Batch copy = inner->CopyRows();
  bool ids_match = true;
  EXPECT_EQ(NumbersOf(copy, &ids_match), (std::vector<int>{699, 600, 650}));
  // Positions of different choices of rows are told apart.
  auto others = *owner->View({.batch_size = 30}, std::vector<uint32_t>(100, 3));
  ASSERT_TRUE(test->StartEpoch(0).ok());
  EXPECT_FALSE(others->Resume(test->position()).ok());
  ExpectResumesExactly([&] { return *owner->View({.batch_size = 9}, held_back); }, 1);
}

TEST(InMemoryViewTest, WhatOneDatasetDoesToItsRowsTheOthersDoNotSee) {
  TempDir dir;
  auto owner = *Load({dir.Write("a", NumberLines(0, 200))}, {.batch = {.batch_size = 50}});
  auto all = *owner->View({.batch_size = 10});
  auto part = *owner->View({.batch_size = 10}, {1, 2, 3, 5});
  ASSERT_TRUE(part->LocalShuffle(1).ok());
  ASSERT_TRUE(part->SlotsShuffle(std::vector<std::string>{"label"}, 0).ok());
  EXPECT_EQ(part->rows(), 4);
  SharedExchange shared(1);
  SharedExchange::Side side(&shared, 0);
  ASSERT_TRUE(part->GlobalShuffle(0, &side).ok());
  EXPECT_EQ(part->rows(), 4);
  auto labels = part->CopyRows().fields[0].values;
  std::sort(labels.begin(), labels.end());
  EXPECT_THAT(labels, ElementsAre(1, 2, 3, 5));
  EXPECT_EQ(ReadInOrder(*owner, 0), Iota(200));
  ASSERT_TRUE(owner->LocalShuffle(1).ok());
  EXPECT_EQ(RowsOf(*ReadEpoch(*all, 0)), Iota(200));
  EXPECT_EQ(ReadInOrder(**owner->View({.batch_size = 10}), 0), ReadInOrder(*owner, 0));
  owner->ReleaseMemory();
  EXPECT_EQ(RowsOf(*ReadEpoch(*all, 0)), Iota(200));
  owner.reset();
  EXPECT_EQ(RowsOf(*ReadEpoch(*all, 0)), Iota(200));
}

TEST(InMemoryViewTest, ErrorsAreThoseOfTheRows) {
  TempDir dir;
  auto owner = *Load({dir.Write("a", NumberLines(0, 20))}, {.batch = {.batch_size = 5}});
  const auto error = [](const StatusOr<std::unique_ptr<InMemoryDataset>>& view) {
    return std::string(Message(view.status()));
  };
  EXPECT_EQ(error(owner->View({}, {3, 20})), "view: there is no row 20, the dataset has 20");
  EXPECT_EQ(error(owner->View({}, std::vector<uint32_t>())), "dataset: no rows");
  EXPECT_THAT(error(owner->View({.batch_size = 0})), HasSubstr("batch_size 0"));
  EXPECT_THAT(error(owner->View({.batch_size = 30, .drop_last = true})),
              HasSubstr("20 rows are fewer than batch_size 30"));
  auto none = owner->View({.allow_empty = true}, std::vector<uint32_t>());
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_EQ((*none)->rows(), 0);
  EXPECT_EQ(ReadInOrder(**none, 0), Iota(0));
  owner->ReleaseMemory();
  EXPECT_THAT(error(owner->View({})), HasSubstr("were released"));
  auto failed =
      InMemoryDataset::Preload({dir.path() + "/none"}, std::make_shared<NumberParser>(), {});
  EXPECT_THAT(error((*failed)->View({})), HasSubstr("/none: no such file"));
}

// Resident memory of this process, in bytes.
int64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  int64_t size = 0, resident = 0;
  statm >> size >> resident;
  return resident * sysconf(_SC_PAGESIZE);
}

TEST(InMemoryViewTest, RowsAreNotCopied) {
  constexpr int64_t kRows = 40000, kWidth = 256;
  constexpr int64_t kBytes = kRows * kWidth * 4;
  Batch rows{.fields = std::vector<Field>(1)};
  rows.rows = kRows;
  rows.fields[0].values.assign(kRows * kWidth, 1);
  auto owner = *InMemoryDataset::FromRows({{"x", InputKind::kDense, kWidth}}, rows, {});
  ASSERT_GE(owner->memory_bytes(), kBytes);
  std::vector<uint32_t> half(kRows / 2);
  std::iota(half.begin(), half.end(), 0);
  const int64_t before = ResidentBytes();
  std::vector<std::unique_ptr<InMemoryDataset>> views;
  for (int i = 0; i < 4; ++i) {
    views.push_back(*owner->View({.batch_size = 100, .shuffle_rows = kWholeEpoch}));
    views.push_back(*owner->View({.batch_size = 100, .shuffle_rows = kWholeEpoch}, half));
  }
  for (const auto& view : views) {
    Batch batch;
    ASSERT_TRUE(view->StartEpoch(0).ok());
    while (*view->Next(0, &batch)) {
    }
  }
  EXPECT_LT(ResidentBytes() - before, kBytes / 4);
}

}  // namespace
}  // namespace flotilla
