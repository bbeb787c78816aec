// A dataset that is fed by a user function: for rows that come from arrays, a database or another
// program's memory. The function produces rows in portions of any size; the dataset turns them into
// batches of the configured size, shuffled and prefetched.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "flotilla/base/interrupt.h"
#include "flotilla/dataset/batch_options.h"
#include "flotilla/dataset/dataset.h"

namespace flotilla {

// Appends the next rows of the epoch, at least one, to `rows` and returns true; returns false at
// the end of the epoch. `rows` is empty and has a field per input; batch_builder.h builds such a
// batch from arrays. An error ends the epoch. Called by one thread at a time.
using RowGenerator = std::function<StatusOr<bool>(Batch* rows)>;

// Called at the start of each epoch: returns a generator that starts at the first row.
using MakeRowGenerator = std::function<StatusOr<RowGenerator>(int64_t epoch)>;

struct GeneratorOptions {
  BatchOptions batch;
  // Number of batches to prepare ahead of the workers, on a separate thread; 0: workers call the
  // generator themselves.
  int prefetch_batches = 2;
  // Ends the epoch with its cause: before the generator is called again and, with a prefetch, while
  // workers wait for it. A generator that may block for long should itself watch the interrupt
  // (AwaitReadable in base/interrupt.h), because a running call of it cannot be ended from outside.
  // Null: not interruptible. Must outlive the dataset.
  const Interrupt* interrupt = nullptr;
};

// Rows that do not fit the inputs are an error. To resume, an epoch is generated again and the rows
// before the position are skipped, so a generator must produce the same rows for the same epoch.
// The result is wrapped in a PrefetchDataset when the options request it.
StatusOr<std::unique_ptr<Dataset>> MakeGeneratorDataset(std::vector<InputSpec> inputs,
                                                        MakeRowGenerator make_generator,
                                                        const GeneratorOptions& options);

}  // namespace flotilla
