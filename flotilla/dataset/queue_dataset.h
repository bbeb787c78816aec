// A dataset that streams text: each epoch reads the files again and keeps nothing in memory. A
// worker takes the lines of one batch under a lock, which costs little more than finding the line
// ends, and parses them outside of it: one file feeds all workers, in slices of one batch.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/log_line.h"
#include "flotilla/base/mutex.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/dataset/epoch_ledger.h"
#include "flotilla/dataset/line_reader.h"
#include "flotilla/dataset/parser.h"

namespace flotilla {

struct QueueDatasetOptions {
  int64_t batch_size = 1000;
  // Drop the last batch of an epoch (of each reader) when it has fewer lines than batch_size.
  bool drop_last = false;
  // Number of bad rows per epoch that are skipped and counted; one more is an error with
  // file:line:column and what was expected. A batch is not refilled after a skip.
  int64_t max_bad_rows = 0;
  // Its header lines and log are overwritten by those of the parser and by `log` below.
  LineReaderOptions reader;
  // Shuffle rows within windows of this many lines, rounded up to whole batches; 0: keep the order
  // of the files. The order is a pure function of (seed, epoch, window). About two windows of text
  // are in memory at a time.
  int64_t shuffle_rows = 0;
  uint64_t seed = 0;
  // Number of readers, each with a contiguous share of the files and one file open at a time: for
  // pipe commands and compressed files, which one reader processes no faster than one core. Batches
  // depend on it (not on the number of workers): reader r of n yields the batches with ordinal % n
  // == r.
  int readers = 1;
  // For callers that read only part of the data: an epoch without rows is not an error.
  bool allow_empty = false;
  LogLine log;
};

// With one reader, batch k of an epoch holds lines k * batch_size .. of the concatenated files,
// without the bad ones; a batch with only bad rows is skipped. A line longer than the reader allows
// is a bad row. A single worker gets batches in the order of their ordinals.
//
// Standard input ("-") can be read in one epoch only: starting another is a FailedPrecondition.
class QueueDataset : public Dataset {
 public:
  // Opens nothing: a missing file is an error of Next.
  // InvalidArgument when there are no files or an option is out of range.
  static StatusOr<std::unique_ptr<QueueDataset>> Make(std::vector<std::string> files,
                                                      std::shared_ptr<const Parser> parser,
                                                      const QueueDatasetOptions& options);
  ~QueueDataset() override;

  std::span<const InputSpec> inputs() const override { return parser_->inputs(); }
  Status StartEpoch(int64_t epoch) override;
  StatusOr<bool> Next(int worker, Batch* batch) override;
  DatasetCounts counts() const override { return ledger_.counts(); }
  DatasetPosition position() const override;
  Status Resume(const DatasetPosition& position) override;

  // Number of readers: at most the number of files.
  int readers() const { return static_cast<int>(lanes_.size()); }

 private:
  struct Lane;    // a reader, its files and its position
  struct Window;  // lines in a shuffled order
  struct Work;    // the lines that a worker has taken and parses

  QueueDataset(std::vector<std::string> files, std::shared_ptr<const Parser> parser,
               const QueueDatasetOptions& options);
  Status CheckStandardInput();
  uint64_t SourceOfPosition() const;
  Work* WorkOf(int worker);
  int64_t OrdinalOf(const Lane& lane) const;
  // Locks and returns the lane with the lowest next ordinal, preferring one that no worker is
  // reading; null at the end. A standard lock, because the analysis cannot follow a lock that is
  // handed over; functions that use the lane assert that its mutex is held.
  Lane* LockLane(std::unique_lock<Mutex>* lock);
  // Takes the lines of the next batch and sets its ordinal; false at the end of the epoch.
  StatusOr<bool> Take(int worker, Work** work, Batch* batch);
  // Takes the lines of a lane's next batch and returns their number; fewer than a batch only at its
  // end. REQUIRES: the lane's lock is held, here and below.
  StatusOr<int64_t> TakeLines(Lane& lane, Work* work);
  StatusOr<int64_t> TakeShuffled(Lane& lane, Work* work);
  Status FillWindow(Lane& lane);
  // Parses the lines that were taken, without the bad rows that may be skipped.
  Status Parse(const Work& work, Batch* batch);
  Status ParseLine(const Work& work, std::string_view line, bool too_long, int file, int64_t number,
                   Batch* batch);

  // Constant after construction.
  const std::vector<std::string> files_;
  const std::shared_ptr<const Parser> parser_;
  const QueueDatasetOptions options_;
  const int64_t window_batches_;  // 0 without shuffle
  std::vector<std::unique_ptr<Lane>> lanes_;
  uint64_t source_ = 0;  // DatasetPosition::source

  bool standard_input_used_ = false;  // written by StartEpoch and Resume only

  EpochLedger ledger_;
  Mutex works_mutex_;
  // One per worker, which uses its own without the lock.
  std::vector<std::unique_ptr<Work>> works_ FL_GUARDED_BY(works_mutex_);
};

}  // namespace flotilla
