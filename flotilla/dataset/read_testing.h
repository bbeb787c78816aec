// Helpers with which the dataset tests read epochs of NumberParser rows (test_data.h): by several
// workers, and with an interruption at every batch. For test programs only.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <thread>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/dataset/test_data.h"

namespace flotilla {

using BatchesByOrdinal = std::map<int64_t, std::vector<int>>;

// Reads the rest of a started epoch with several workers at once; returns the first error that one
// of them encounters.
inline StatusOr<BatchesByOrdinal> ReadRest(Dataset& dataset, int64_t epoch, int workers) {
  BatchesByOrdinal batches;
  Status error;
  bool ids_match = true;
  Mutex mutex;
  std::vector<std::thread> threads;
  for (int worker = 0; worker < workers; ++worker) {
    threads.emplace_back([&, worker] {
      Batch batch;
      while (true) {
        StatusOr<bool> more = dataset.Next(worker, &batch);
        MutexLock lock(mutex);
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

inline StatusOr<BatchesByOrdinal> ReadEpoch(Dataset& dataset, int64_t epoch, int workers = 1) {
  FL_RETURN_IF_ERROR(dataset.StartEpoch(epoch));
  return ReadRest(dataset, epoch, workers);
}

inline std::string ErrorOf(Dataset& dataset, int workers = 1) {
  return std::string(Message(ReadEpoch(dataset, 0, workers).status()));
}

// All rows of batches, in the order of their ordinals.
inline std::vector<int> RowsOf(const BatchesByOrdinal& batches) {
  std::vector<int> rows;
  for (const auto& [ordinal, numbers] : batches) {
    rows.insert(rows.end(), numbers.begin(), numbers.end());
  }
  return rows;
}

// The numbers 0 .. n - 1.
inline std::vector<int> Iota(int n) {
  std::vector<int> numbers(n);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

// Stops after each possible number of batches and resumes in another dataset through the text form
// of the position, twice: the following batches and the counts must be the same as without an
// interruption. `without_places`: also from positions that, as those of earlier versions, have
// none.
inline void ExpectResumesExactly(const std::function<std::unique_ptr<Dataset>()>& make,
                                 int64_t epoch, bool without_places = false) {
  std::unique_ptr<Dataset> whole = make(), other = make();
  StatusOr<BatchesByOrdinal> expected = ReadEpoch(*whole, epoch);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const DatasetCounts counts = whole->counts();
  for (size_t stop = 0; stop <= expected->size(); ++stop) {
    ASSERT_TRUE(whole->StartEpoch(epoch).ok());
    BatchesByOrdinal batches;
    Batch batch;
    bool ids_match = true;
    for (size_t i = 0; i < stop; ++i) {
      ASSERT_TRUE(*whole->Next(0, &batch));
      batches.emplace(batch.ordinal, NumbersOf(batch, &ids_match));
    }
    StatusOr<DatasetPosition> position = DatasetPosition::FromText(whole->position().ToText());
    ASSERT_TRUE(position.ok()) << position.status();
    EXPECT_EQ(*position, whole->position());
    ASSERT_TRUE(other->Resume(*position).ok()) << other->Resume(*position);
    // Interrupted again, before any batch.
    ASSERT_TRUE(other->Resume(other->position()).ok());
    StatusOr<BatchesByOrdinal> rest = ReadRest(*other, epoch, 2);
    ASSERT_TRUE(rest.ok()) << rest.status();
    EXPECT_TRUE(rest->empty() || rest->begin()->first >= position->ordinal);
    batches.merge(*rest);
    EXPECT_EQ(batches, *expected) << "after " << stop << " batches";
    EXPECT_EQ(other->counts().read(), counts.read());
    EXPECT_EQ(other->counts().rows, counts.rows);
    EXPECT_EQ(other->counts().skipped, counts.skipped);
    if (!without_places) continue;
    position->places.clear();
    ASSERT_TRUE(other->Resume(*position).ok()) << other->Resume(*position);
    rest = ReadRest(*other, epoch, 1);
    ASSERT_TRUE(rest.ok()) << rest.status();
    for (auto& [ordinal, numbers] : *rest) EXPECT_EQ(numbers, expected->at(ordinal));
    EXPECT_EQ(rest->size(), expected->size() - stop);
    EXPECT_EQ(other->counts().read(), counts.read());
  }
}

}  // namespace flotilla
