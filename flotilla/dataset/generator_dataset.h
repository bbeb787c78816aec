// A dataset that is fed by a user function: for rows that come from arrays, a database or another
// program's memory. The function produces rows in portions of any size; the dataset turns them into
// batches of the configured size, shuffled and prefetched.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "flotilla/base/interrupt.h"
#include "flotilla/base/mutex.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/dataset/epoch_ledger.h"

namespace flotilla {

// Appends the next rows of the epoch, at least one, to `rows` and returns true; returns false at
// the end of the epoch. `rows` is empty and has a field per input; batch_builder.h builds such a
// batch from arrays. An error ends the epoch. Called by one thread at a time.
using RowGenerator = std::function<StatusOr<bool>(Batch* rows)>;

// Called at the start of each epoch: returns a generator that starts at the first row.
using MakeRowGenerator = std::function<StatusOr<RowGenerator>(int64_t epoch)>;

struct GeneratorOptions {
  int64_t batch_size = 1000;
  // Drop the last batch of an epoch when it is shorter than batch_size.
  bool drop_last = false;
  // Shuffle within windows of this many rows, rounded up to whole batches; 0: keep the order of the
  // generator. The order is a pure function of (seed, epoch, window).
  int64_t shuffle_rows = 0;
  uint64_t seed = 0;
  // Number of batches to prepare ahead of the workers, on a separate thread; 0: workers call the
  // generator themselves.
  int prefetch_batches = 2;
  // Ends the epoch with its cause: before the generator is called again and, with a prefetch, while
  // workers wait for it. A generator that may block for long should itself watch the interrupt
  // (AwaitReadable in base/interrupt.h), because a running call of it cannot be ended from outside.
  // Null: not interruptible. Must outlive the dataset.
  const Interrupt* interrupt = nullptr;
};

// Rows that do not fit the inputs are an error. To resume, an epoch is generated again and the
// batches up to the position are skipped, so a generator must produce the same rows for the same
// epoch.
class GeneratorDataset : public Dataset {
 public:
  // The result is wrapped in a PrefetchDataset when the options request it.
  static StatusOr<std::unique_ptr<Dataset>> Make(std::vector<InputSpec> inputs,
                                                 MakeRowGenerator make_generator,
                                                 const GeneratorOptions& options);

  std::span<const InputSpec> inputs() const override { return inputs_; }
  Status StartEpoch(int64_t epoch) override;
  StatusOr<bool> Next(int worker, Batch* batch) override;
  DatasetCounts counts() const override { return ledger_.counts(); }
  DatasetPosition position() const override;
  Status Resume(const DatasetPosition& position) override;

 private:
  GeneratorDataset(std::vector<InputSpec> inputs, MakeRowGenerator make_generator,
                   const GeneratorOptions& options);
  uint64_t SourceOfPosition() const;
  // Appends up to `count` rows to `batch`, fewer only at the end.
  Status Generate(int64_t count, Batch* batch) FL_REQUIRES(mutex_);
  Status FillWindow() FL_REQUIRES(mutex_);
  Status FillBatch(Batch* batch) FL_REQUIRES(mutex_);
  StatusOr<bool> NextLocked(Batch* batch) FL_REQUIRES(mutex_);

  // Constant after construction.
  const std::vector<InputSpec> inputs_;
  const MakeRowGenerator make_generator_;
  const GeneratorOptions options_;
  const int64_t window_batches_;  // 0 without shuffle

  EpochLedger ledger_;
  mutable Mutex mutex_;
  RowGenerator generator_ FL_GUARDED_BY(mutex_);
  // Generated rows that are in no batch yet: from pending_begin_ on.
  Batch pending_ FL_GUARDED_BY(mutex_);
  int64_t pending_begin_ FL_GUARDED_BY(mutex_) = 0;
  bool generator_ended_ FL_GUARDED_BY(mutex_) = false;
  Batch window_ FL_GUARDED_BY(mutex_);
  std::vector<uint32_t> order_ FL_GUARDED_BY(mutex_);
  int64_t next_batch_ FL_GUARDED_BY(mutex_) = 0;
  bool ended_ FL_GUARDED_BY(mutex_) = false;
};

}  // namespace flotilla
