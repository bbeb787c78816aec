#include "flotilla/dataset/chained_dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "flotilla/base/temp_dir_testing.h"
#include "flotilla/dataset/in_memory_dataset.h"
#include "flotilla/dataset/read_testing.h"
#include "flotilla/dataset/stream.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<InputSpec> InputsOfNumbers() {
  const NumberParser parser;
  return {parser.inputs().begin(), parser.inputs().end()};
}

// Rows 0 .. 99, 100 .. 122 and none, in streams or in memory in a random order.
std::unique_ptr<Dataset> MakePart(const TempDir& dir, int part, bool in_memory) {
  StreamOptions options{.batch = {.batch_size = 10, .allow_empty = true}};
  if (in_memory) options.batch.shuffle_rows = kWholeEpoch;
  std::vector<std::string> files;
  if (part < 2) {
    files = {dir.Write(fmt::format("rows{}", part),
                       part == 0 ? NumberLines(0, 100) : NumberLines(100, 123))};
  }
  const auto parser = std::make_shared<NumberParser>();
  if (in_memory) return *InMemoryDataset::Load(files, parser, options);
  return *MakeStream(files, parser, options);
}

// Parts in the order in which they are taken. Parts that `begun` names are resumed, not taken.
struct Parts {
  const TempDir* dir;
  bool in_memory = false;
  std::vector<int> begun = {};
  std::vector<int> order = {0, 2, 1};
  int64_t max_bad_rows = 0;
  std::vector<int> opened = {};
};

std::unique_ptr<ChainedDataset> MakeChain(Parts* parts) {
  ChainOptions options{.inputs = InputsOfNumbers(), .numbers = 3};
  options.take = [parts, next = size_t{0},
                  last = int64_t{-1}](int64_t epoch) mutable -> StatusOr<std::optional<int>> {
    if (epoch != last) next = 0;
    last = epoch;
    while (next < parts->order.size()) {
      const int part = parts->order[next++];
      if (!std::ranges::count(parts->begun, part)) return part;
    }
    return std::nullopt;
  };
  options.open = [parts](int part) -> StatusOr<std::shared_ptr<Dataset>> {
    parts->opened.push_back(part);
    return MakePart(*parts->dir, part, parts->in_memory);
  };
  options.max_bad_rows = parts->max_bad_rows;
  return std::make_unique<ChainedDataset>(std::move(options), parts->begun);
}

std::vector<int> Sorted(std::vector<int> rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST(ChainedDatasetTest, HasEveryRowOfEachPartOnceWithAnyNumberOfWorkers) {
  const TempDir dir;
  for (const bool in_memory : {false, true}) {
    Parts parts{.dir = &dir, .in_memory = in_memory};
    const auto chain = MakeChain(&parts);
    for (const int workers : {1, 3}) {
      const auto batches = ReadEpoch(*chain, workers, workers);
      ASSERT_TRUE(batches.ok()) << batches.status();
      EXPECT_EQ(Sorted(RowsOf(*batches)), Iota(123));
      EXPECT_EQ(chain->counts().rows, 123);
      EXPECT_THAT(chain->taken(), ElementsAre(0, 1, 2));
    }
  }
}

TEST(ChainedDatasetTest, ContinuesAtEveryPosition) {
  const TempDir dir;
  for (const bool in_memory : {false, true}) {
    for (int before = 0; before <= 13; ++before) {
      Parts parts{.dir = &dir, .in_memory = in_memory};
      const auto chain = MakeChain(&parts);
      ASSERT_TRUE(chain->StartEpoch(1).ok());
      std::vector<int> rows;
      Batch batch;
      bool ids_match = true;
      for (int b = 0; b < before; ++b) {
        ASSERT_TRUE(*chain->Next(0, &batch));
        for (const int row : NumbersOf(batch, &ids_match)) rows.push_back(row);
      }
      const StatusOr<DatasetPosition> saved = DatasetPosition::FromText(chain->position().ToText());
      ASSERT_TRUE(saved.ok()) << saved.status();
      EXPECT_EQ(saved->rows, static_cast<int64_t>(rows.size()));
      Parts rest{.dir = &dir, .in_memory = in_memory, .begun = chain->taken()};
      const auto resumed = MakeChain(&rest);
      const Status status = resumed->Resume(*saved);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ(*saved, resumed->position());
      const auto again = ReadRest(*resumed, 1, 2);
      ASSERT_TRUE(again.ok()) << again.status();
      for (const int row : RowsOf(*again)) rows.push_back(row);
      EXPECT_EQ(Sorted(rows), Iota(123)) << before;
      EXPECT_EQ(resumed->counts().rows, 123);
      // What has ended is not read again.
      EXPECT_EQ(std::ranges::count(rest.opened, 0), before > 10 ? 0 : 1) << before;
    }
  }
}

TEST(ChainedDatasetTest, ContinuesFromPositionsOfSeparateDatasets) {
  const TempDir dir;
  DatasetPosition saved;
  saved.epoch = 0;
  std::vector<int> rows;
  for (const int part : {0, 1, 2}) {
    const auto dataset = MakePart(dir, part, true);
    ASSERT_TRUE(dataset->StartEpoch(0).ok());
    Batch batch;
    bool ids_match = true;
    if (*dataset->Next(0, &batch)) {
      for (const int row : NumbersOf(batch, &ids_match)) rows.push_back(row);
    }
    saved.parts.push_back(dataset->position());
  }
  Parts parts{.dir = &dir, .in_memory = true, .begun = {0, 1, 2}};
  const auto chain = MakeChain(&parts);
  ASSERT_TRUE(chain->Resume(saved).ok());
  const auto rest = ReadRest(*chain, 0, 1);
  ASSERT_TRUE(rest.ok()) << rest.status();
  for (const int row : RowsOf(*rest)) rows.push_back(row);
  EXPECT_EQ(Sorted(rows), Iota(123));

  saved.parts.pop_back();
  EXPECT_THAT(Message(chain->Resume(saved)),
              HasSubstr("3 shares of the rows from the positions of 2"));
}

TEST(ChainedDatasetTest, APositionWithoutPartsIsThatOfTheOnlyOne) {
  const TempDir dir;
  const auto dataset = MakePart(dir, 0, false);
  ASSERT_TRUE(dataset->StartEpoch(4).ok());
  Batch batch;
  ASSERT_TRUE(*dataset->Next(0, &batch));
  Parts parts{.dir = &dir, .begun = {0}, .order = {}};
  const auto chain = MakeChain(&parts);
  ASSERT_TRUE(chain->Resume(dataset->position()).ok());
  const auto rest = ReadRest(*chain, 4, 1);
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ(RowsOf(*rest).size(), 90u);
}

// Also of a position that a chain has written and a single dataset continues.
TEST(ChainedDatasetTest, ASingleDatasetContinuesAtAnEndWithoutRows) {
  const TempDir dir;
  Parts parts{.dir = &dir, .order = {0}};
  const auto chain = MakeChain(&parts);
  ASSERT_TRUE(ReadEpoch(*chain, 1, 1).ok());
  const DatasetPosition end = chain->position().parts.at(0);
  EXPECT_TRUE(end.ended);
  const auto dataset = MakePart(dir, 0, false);
  ASSERT_TRUE(dataset->Resume(end).ok());
  EXPECT_EQ(dataset->position(), end);
  Batch batch;
  EXPECT_FALSE(*dataset->Next(0, &batch));
  EXPECT_EQ(dataset->counts().rows, 100);
  const auto again = ReadEpoch(*dataset, 2, 1);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(RowsOf(*again).size(), 100u);
}

TEST(ChainedDatasetTest, ClosesPartsSomeTimeAfterTheirEnd) {
  const TempDir dir;
  std::vector<std::weak_ptr<Dataset>> opened;
  ChainOptions options{.inputs = InputsOfNumbers(), .numbers = 5};
  options.take = [next = 0](int64_t) mutable -> StatusOr<std::optional<int>> {
    if (next == 5) return std::nullopt;
    return next++;
  };
  options.open = [&](int part) -> StatusOr<std::shared_ptr<Dataset>> {
    const std::string file = dir.Write(fmt::format("rows{}", part), NumberLines(part, part + 1));
    const std::shared_ptr<Dataset> rows = *MakeStream({file}, std::make_shared<NumberParser>(),
                                                      StreamOptions{.batch = {.batch_size = 10}});
    opened.push_back(rows);
    return rows;
  };
  ChainedDataset chain(std::move(options));
  const auto batches = ReadEpoch(chain, 0, 1);
  ASSERT_TRUE(batches.ok()) << batches.status();
  EXPECT_EQ(Sorted(RowsOf(*batches)), Iota(5));
  std::vector<bool> open;
  for (const auto& part : opened) open.push_back(!part.expired());
  EXPECT_THAT(open, ElementsAre(false, false, false, true, true));
  EXPECT_EQ(chain.counts().rows, 5);
  EXPECT_EQ(chain.position().rows, 5);
  EXPECT_EQ(chain.position().parts.size(), 5u);
}

TEST(ChainedDatasetTest, BadRowsOfAllPartsCountTogether) {
  const TempDir dir;
  for (const int64_t allowed : {2, 3}) {
    ChainOptions options{.inputs = InputsOfNumbers(), .numbers = 3, .max_bad_rows = allowed};
    options.take = [next = 0](int64_t) mutable -> StatusOr<std::optional<int>> {
      if (next == 3) return std::nullopt;
      return next++;
    };
    options.open = [&](int part) -> StatusOr<std::shared_ptr<Dataset>> {
      const std::string file = dir.Write(fmt::format("rows{}", part), NumberLines(0, 10) + "bad\n");
      StreamOptions stream{.batch = {.batch_size = 5}, .max_bad_rows = allowed};
      return std::shared_ptr<Dataset>(
          *MakeStream({file}, std::make_shared<NumberParser>(), stream));
    };
    ChainedDataset chain(std::move(options));
    const auto batches = ReadEpoch(chain, 0, 1);
    EXPECT_EQ(batches.ok(), allowed == 3) << batches.status();
    if (!batches.ok()) {
      EXPECT_THAT(Message(batches.status()), HasSubstr("more than 2 bad rows: "));
      EXPECT_THAT(Message(batches.status()), HasSubstr("rows2:11"));
    }
  }
}

}  // namespace
}  // namespace flotilla
