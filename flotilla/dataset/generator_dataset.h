// A dataset that is fed by a function of the user's: for rows that come from arrays, a database or
// another program's memory. The function gives rows in any portions; batches of the wanted size,
// shuffled and read ahead, come out.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "flotilla/base/interrupt.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/dataset/epoch_ledger.h"

namespace flotilla {

// Appends the next rows of the epoch, one at least, to `rows` (empty, with a field per input;
// batch_builder.h makes one from arrays) and returns true; false at the end of the epoch. An error
// ends the epoch. Called by one thread at a time.
using RowGenerator = std::function<StatusOr<bool>(Batch* rows)>;

// Called at the start of each epoch: gives a generator that begins anew.
using MakeRowGenerator = std::function<StatusOr<RowGenerator>(int64_t epoch)>;

struct GeneratorOptions {
  int64_t batch_size = 1000;
  // Leave out the last batch of an epoch when it is shorter than batch_size.
  bool drop_last = false;
  // Shuffle within windows of so many rows, rounded up to whole batches; 0: in the order given.
  // The order is a pure function of (seed, epoch, window).
  int64_t shuffle_rows = 0;
  uint64_t seed = 0;
  // Batches that are made ahead of the workers, on a thread of its own; 0: workers call the
  // generator themselves.
  int prefetch_batches = 2;
  // Ends the epoch with its cause: before the generator is called again and, with a prefetch, while
  // workers wait for it. A generator that may wait for long should end by itself then
  // (AwaitReadable in base/interrupt.h): nothing else ends a call of it. Null: nothing does. Must
  // outlive the dataset.
  const Interrupt* interrupt = nullptr;
};

// Rows that do not fit the inputs are an error. To resume, an epoch is generated anew and the
// batches up to the position are left out, so a generator must give the same rows for the same
// epoch.
class GeneratorDataset : public Dataset {
 public:
  // Behind a PrefetchDataset when the options ask for it.
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
  // Appends up to `count` rows to `batch`, fewer only at the end. REQUIRES: mutex_ is held, here
  // and below.
  Status Generate(int64_t count, Batch* batch);
  Status FillWindow();
  Status FillBatch(Batch* batch);
  StatusOr<bool> NextLocked(Batch* batch);

  // Constant after construction.
  const std::vector<InputSpec> inputs_;
  const MakeRowGenerator make_generator_;
  const GeneratorOptions options_;
  const int64_t window_batches_;  // 0 without shuffle

  EpochLedger ledger_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  RowGenerator generator_;
  Batch pending_;  // rows the generator gave that no batch has yet: from pending_begin_ on
  int64_t pending_begin_ = 0;
  bool generator_ended_ = false;
  Batch window_;
  std::vector<uint32_t> order_;
  int64_t next_batch_ = 0;
  bool ended_ = false;
};

}  // namespace flotilla
