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

using ::testing::HasSubstr;

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

std::unique_ptr<ChainedDataset> MakeChain(const TempDir& dir, bool in_memory) {
  std::vector<std::unique_ptr<Dataset>> parts;
  for (const int part : {0, 2, 1}) parts.push_back(MakePart(dir, part, in_memory));
  return std::make_unique<ChainedDataset>(std::move(parts));
}

std::vector<int> Sorted(std::vector<int> rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

TEST(ChainedDatasetTest, HasEveryRowOfEachPartOnceWithAnyNumberOfWorkers) {
  const TempDir dir;
  for (const bool in_memory : {false, true}) {
    const auto chain = MakeChain(dir, in_memory);
    for (const int workers : {1, 3}) {
      const auto batches = ReadEpoch(*chain, 2, workers);
      ASSERT_TRUE(batches.ok()) << batches.status();
      EXPECT_EQ(Sorted(RowsOf(*batches)), Iota(123));
      EXPECT_EQ(chain->counts().rows, 123);
    }
    EXPECT_EQ(chain->epoch_batches(), in_memory ? 13 : 0);
  }
}

TEST(ChainedDatasetTest, ContinuesAtEveryPosition) {
  const TempDir dir;
  for (const bool in_memory : {false, true}) {
    for (int before = 0; before <= 13; ++before) {
      const auto chain = MakeChain(dir, in_memory);
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
      const auto resumed = MakeChain(dir, in_memory);
      const Status status = resumed->Resume(*saved);
      ASSERT_TRUE(status.ok()) << status;
      const auto rest = ReadRest(*resumed, 1, 2);
      ASSERT_TRUE(rest.ok()) << rest.status();
      for (const int row : RowsOf(*rest)) rows.push_back(row);
      EXPECT_EQ(Sorted(rows), Iota(123)) << before;
      EXPECT_EQ(resumed->counts().rows, 123);
    }
  }
}

TEST(ChainedDatasetTest, ContinuesFromPositionsOfSeparateDatasets) {
  const TempDir dir;
  DatasetPosition saved;
  std::vector<int> rows;
  for (const int part : {0, 2, 1}) {
    const auto dataset = MakePart(dir, part, true);
    ASSERT_TRUE(dataset->StartEpoch(0).ok());
    Batch batch;
    bool ids_match = true;
    if (*dataset->Next(0, &batch)) {
      for (const int row : NumbersOf(batch, &ids_match)) rows.push_back(row);
    }
    saved.parts.push_back(dataset->position());
  }
  const auto chain = MakeChain(dir, true);
  ASSERT_TRUE(chain->Resume(saved).ok());
  const auto rest = ReadRest(*chain, 0, 1);
  ASSERT_TRUE(rest.ok()) << rest.status();
  for (const int row : RowsOf(*rest)) rows.push_back(row);
  EXPECT_EQ(Sorted(rows), Iota(123));

  saved.parts.pop_back();
  EXPECT_THAT(Message(chain->Resume(saved)),
              HasSubstr("3 shares of the rows from the positions of 2"));
}

}  // namespace
}  // namespace flotilla
