// Cuts the rows of sources (row_source.h) into batches: the one place that knows about readers,
// shuffled windows, short last batches, ordinals, counts, errors and positions. Text, cache files,
// generators and rows in memory differ only in their sources.
//
//   RowSource ─► window, shuffled ─► batch with its ordinal and a position after it
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/base/rng.h"
#include "flotilla/dataset/batch_options.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/dataset/epoch_ledger.h"
#include "flotilla/dataset/row_names.h"
#include "flotilla/dataset/row_source.h"

namespace flotilla {

// What batches are made of.
struct BatchedRows {
  std::vector<InputSpec> inputs;
  // Each has its own rows and delivers its own batches: reader r of n those with ordinal % n == r.
  // None: every epoch ends at once.
  std::vector<std::unique_ptr<RowSource>> readers;
  // DatasetPosition::source: identifies the rows and the options that affect batches.
  std::function<uint64_t()> identity;
  std::string what;          // names the rows in the error of an epoch without any
  int64_t max_bad_rows = 0;  // bad rows per epoch that are skipped and counted
  // A place is only the number of rows before it, as Place::line. REQUIRES: there is one reader.
  bool places_are_rows = false;
};

// With one reader, batch k of an epoch holds rows k * batch_size .. of the source, without those
// that turn out to be bad; a batch with only bad rows is skipped. A single worker gets batches in
// the order of their ordinals.
//
// A worker takes the rows of a batch under the lock of a reader and parses, unpacks or copies them
// outside of it: one source feeds all workers. Only filling a window is done under the lock.
class BatchedDataset : public Dataset {
 public:
  // REQUIRES: options.Check() is ok.
  BatchedDataset(BatchedRows rows, const BatchOptions& options);
  ~BatchedDataset() override;

  std::span<const InputSpec> inputs() const override { return inputs_; }
  Status StartEpoch(int64_t epoch) override;
  StatusOr<bool> Next(int worker, Batch* batch) override;
  DatasetCounts counts() const override { return ledger_.counts(); }
  DatasetPosition position() const override;
  Status Resume(const DatasetPosition& position) override;

  std::string NameRow(const Batch& batch, int64_t row) const override;

  // Names rows of batches of this dataset by origin, as NameRow does, but without a shuffled order;
  // does not need the dataset.
  NameRows name_rows() const;

  int readers() const { return static_cast<int>(lanes_.size()); }

 private:
  struct Lane;    // a reader and its position
  struct Window;  // rows in a shuffled order
  struct Work;    // the rows that a worker has taken

  StatusOr<std::vector<DatasetPosition::Place>> PlacesOf(const DatasetPosition& position) const;
  // An error if no reader of this dataset can have stood there.
  Status CheckPlace(const DatasetPosition::Place& place) const;
  Work* WorkOf(int worker);
  int64_t OrdinalOf(const Lane& lane) const;
  // Locks and returns the lane with the lowest next ordinal, preferring one that no worker is
  // reading; null at the end. A standard lock, because the analysis cannot follow a lock that is
  // handed over; functions that use the lane assert that its mutex is held.
  Lane* LockLane(std::unique_lock<Mutex>* lock);
  // Takes the rows of the next batch and sets its ordinal; false at the end of the epoch.
  StatusOr<bool> Take(Work* work, Batch* batch);
  // Takes the rows of a lane's next batch, notes their origin in *work, and returns their number;
  // fewer than a batch only at its end. REQUIRES: the lane's lock is held, here and below.
  StatusOr<int64_t> TakeRows(Lane& lane, Work* work);
  StatusOr<int64_t> TakeShuffled(Lane& lane, Work* work);
  Status FillWindow(Lane& lane);
  // The key of the order of a window's rows.
  RngKey OrderKey(int64_t epoch, int reader, int64_t window) const;
  // Appends the rows that were taken.
  Status Fill(Work* work, Batch* batch);

  // Constant after construction.
  const std::vector<InputSpec> inputs_;
  const BatchOptions options_;
  const int64_t window_batches_;  // 0 without shuffle
  const std::function<uint64_t()> identity_;
  const bool places_are_rows_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<NameRows> names_;  // by lane
  // Written between epochs. Set: the readers have no places, because nothing is left of the epoch.
  std::optional<DatasetPosition> resumed_at_end_;

  EpochLedger ledger_;
  Mutex works_mutex_;
  // One per worker, which uses its own without the lock.
  std::vector<std::unique_ptr<Work>> works_ FL_GUARDED_BY(works_mutex_);
};

}  // namespace flotilla
