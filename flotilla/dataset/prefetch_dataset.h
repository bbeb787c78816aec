// A dataset that wraps another one and prefetches its batches on a separate thread, so that workers
// find batches ready: for sources that are slow or block (generators, commands, remote files). When
// parsing is the bottleneck, letting the workers parse is just as fast.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <thread>

#include "flotilla/base/interrupt.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/queue.h"
#include "flotilla/dataset/dataset.h"

namespace flotilla {

// Delivers the batches of the inner dataset in the order in which it delivers them to one worker.
// Counts and position refer to the batches handed out, not to those prefetched.
class PrefetchDataset : public Dataset {
 public:
  // Keeps up to `depth` batches ready. InvalidArgument when `depth` is less than 1. `interrupt`,
  // unless it is null, ends the waits of Next with its cause; it must outlive the dataset.
  static StatusOr<std::unique_ptr<PrefetchDataset>> Make(std::unique_ptr<Dataset> inner, int depth,
                                                         const Interrupt* interrupt = nullptr);
  // Waits for the batch that is being read.
  ~PrefetchDataset() override;

  std::span<const InputSpec> inputs() const override { return inner_->inputs(); }
  Status StartEpoch(int64_t epoch) override;
  StatusOr<bool> Next(int worker, Batch* batch) override;
  int64_t epoch_batches() const override { return inner_->epoch_batches(); }
  DatasetCounts counts() const override;
  std::string NameRow(const Batch& batch, int64_t row) const override {
    return inner_->NameRow(batch, row);
  }
  DatasetPosition position() const override;
  Status Resume(const DatasetPosition& position) override;

 private:
  // State of the inner dataset right after a batch.
  struct State {
    int64_t number = 0;  // number of the batch, from 1 after a start
    DatasetCounts counts;
    DatasetPosition position;
  };
  struct Item {
    Batch batch;
    State after;
  };

  PrefetchDataset(std::unique_ptr<Dataset> inner, int depth, const Interrupt* interrupt);
  void Stop();
  void Start();
  void ReadAhead();
  State StateOfInner(int64_t number) const;
  void NoteState(State state);
  // The next item; empty at the end of the epoch.
  StatusOr<std::optional<Item>> Take();

  // Constant after construction.
  const std::unique_ptr<Dataset> inner_;
  const int depth_;
  const Interrupt* const interrupt_;

  // Written between epochs only. The reader thread alone uses the inner dataset while it runs.
  std::unique_ptr<BoundedQueue<Item>> ready_;   // null before the first epoch
  std::unique_ptr<BoundedQueue<Batch>> spare_;  // batches whose memory is reused
  std::thread reader_;

  mutable Mutex mutex_;
  State handed_out_ FL_GUARDED_BY(mutex_);  // after the last batch that was handed out
  State ended_ FL_GUARDED_BY(mutex_);       // at the end of the epoch or at its error
  Status error_ FL_GUARDED_BY(mutex_);
};

}  // namespace flotilla
