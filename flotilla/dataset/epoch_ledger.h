// State that the workers reading an epoch share besides its data: the counts, the first error and
// the number of batches in progress. Datasets implement the guarantees of dataset.h with it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"
#include "flotilla/dataset/batch_options.h"
#include "flotilla/dataset/dataset.h"

namespace flotilla {

// Thread-safe.
class EpochLedger {
 public:
  static constexpr size_t kSamples = 10;

  // `what` names the data in the error of an epoch without rows; with allow_empty that is not an
  // error.
  EpochLedger(int64_t max_bad_rows, std::string what, bool allow_empty = false)
      : max_bad_rows_(max_bad_rows), what_(std::move(what)), allow_empty_(allow_empty) {}

  // Starts an epoch, or resumes in the middle of one. InvalidArgument when `epoch` is negative.
  Status Start(int64_t epoch, const DatasetCounts& counts = {});
  int64_t epoch() const;

  // FailedPrecondition before Start; afterwards the first error, if there is one.
  Status status() const;
  // Keeps the first error and returns it.
  Status Fail(const Status& error);

  // A worker has taken a batch; it must call BatchDone.
  void BatchTaken();
  void BatchDone(int64_t rows);
  void Drop(int64_t rows);
  // Counts a bad row, described as in DatasetCounts::samples; returns an error when the limit is
  // exceeded.
  Status SkipBadRow(const std::string& described);
  // Counts rows that were found bad and skipped earlier.
  Status SkipBadRows(int64_t rows, std::span<const std::string> samples);

  // Called by a worker that has reached the end of the data: returns ok, or the error of an epoch
  // without rows. While other workers still have batches, the last of them detects that error.
  Status End();

  DatasetCounts counts() const;
  // Fills in the epoch and the counts.
  void FillPosition(DatasetPosition* position) const;

 private:
  Status FailLocked(const Status& error) FL_REQUIRES(mutex_);

  // Constant after construction.
  const int64_t max_bad_rows_;
  const std::string what_;
  const bool allow_empty_;

  mutable Mutex mutex_;
  int64_t epoch_ FL_GUARDED_BY(mutex_) = -1;
  int64_t in_hand_ FL_GUARDED_BY(mutex_) = 0;
  DatasetCounts counts_ FL_GUARDED_BY(mutex_);
  Status error_ FL_GUARDED_BY(mutex_);
};

// The counts stored in a position.
DatasetCounts CountsOf(const DatasetPosition& position);

// FailedPrecondition unless `position` is inside an epoch of the data that `source` identifies.
Status CheckSource(const DatasetPosition& position, uint64_t source);

// Hash of the files, the parser and all else that affects batches, for DatasetPosition::source.
class SourceHash {
 public:
  explicit SourceHash(std::string_view kind) { Add(kind); }
  void Add(std::string_view part);
  void Add(int64_t part) { Add(std::to_string(part)); }
  void Add(std::span<const InputSpec> inputs);
  void Add(const BatchOptions& options);
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0;
};

}  // namespace flotilla
