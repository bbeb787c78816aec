// Streams rows from the binary cache instead of text: the same rows as a QueueDataset of the same
// files, several times as fast. The cache file of a source is created when an epoch reaches it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/dataset/cache_store.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/dataset/epoch_ledger.h"

namespace flotilla {

// Batch k of an epoch holds rows k * batch_size .. of the concatenated files. If there are no bad
// rows, these are the batches of a QueueDataset with the same options and one reader, shuffled or
// not. Bad rows are not in the cache, so here they leave no gap in a batch. They are counted when
// the epoch reaches their file, against the same limit.
//
// A worker takes a range of rows under a lock and unpacks them outside of it. A cache file that
// turns out to be damaged is rebuilt from its source, and the epoch continues.
class CacheDataset : public Dataset {
 public:
  static StatusOr<std::unique_ptr<CacheDataset>> Make(std::vector<std::string> files,
                                                      std::shared_ptr<const Parser> parser,
                                                      const QueueDatasetOptions& options,
                                                      const CacheOptions& cache);

  std::span<const InputSpec> inputs() const override { return inputs_; }
  Status StartEpoch(int64_t epoch) override;
  StatusOr<bool> Next(int worker, Batch* batch) override;
  DatasetCounts counts() const override { return ledger_.counts(); }
  DatasetPosition position() const override;
  Status Resume(const DatasetPosition& position) override;

 private:
  // Rows [begin, end) of one file.
  struct Span {
    size_t index;
    std::shared_ptr<const CacheFile> file;
    int64_t begin, end;
  };
  struct Window {
    Batch rows;
    std::vector<uint32_t> order;
  };
  // The rows that a worker has taken.
  struct Work {
    std::vector<Span> spans;               // without shuffle
    std::shared_ptr<const Window> window;  // with shuffle: rows [begin, end) of its order
    int64_t begin = 0, end = 0;
  };

  CacheDataset(std::unique_ptr<CacheStore> store, std::shared_ptr<const Parser> parser,
               const QueueDatasetOptions& options);
  uint64_t SourceOfPosition() const;
  // Takes up to `count` rows from the current position of the epoch.
  StatusOr<int64_t> TakeRows(int64_t count, std::vector<Span>* spans) FL_REQUIRES(mutex_);
  StatusOr<int64_t> TakeShuffled(Work* work) FL_REQUIRES(mutex_);
  StatusOr<bool> Take(Work* work, Batch* batch);
  Status FillWindow() FL_REQUIRES(mutex_);
  // Appends the rows of the spans. Needs no lock.
  Status Unpack(const std::vector<Span>& spans, Batch* batch);

  // Constant after construction.
  const std::unique_ptr<CacheStore> store_;
  const std::shared_ptr<const Parser> parser_;
  const std::vector<InputSpec> inputs_;
  const QueueDatasetOptions options_;
  const int64_t window_batches_;  // 0 without shuffle
  uint64_t source_ = 0;           // DatasetPosition::source

  EpochLedger ledger_;
  mutable Mutex mutex_;
  // The next row to take, and the window that next_batch_ is in (null when none is filled), which
  // begins with window_batch_ at window_file_, window_row_.
  size_t file_ FL_GUARDED_BY(mutex_) = 0;
  int64_t row_ FL_GUARDED_BY(mutex_) = 0;
  size_t counted_files_ FL_GUARDED_BY(mutex_) = 0;  // files whose bad rows are counted
  int64_t next_batch_ FL_GUARDED_BY(mutex_) = 0;
  bool ended_ FL_GUARDED_BY(mutex_) = false;
  std::shared_ptr<const Window> window_ FL_GUARDED_BY(mutex_);
  int64_t window_batch_ FL_GUARDED_BY(mutex_) = 0;
  size_t window_file_ FL_GUARDED_BY(mutex_) = 0;
  int64_t window_row_ FL_GUARDED_BY(mutex_) = 0;
};

}  // namespace flotilla
