// Interface of a dataset: it delivers the batches of one epoch after another to the workers of a
// trainer. How rows are read, stored and ordered is up to the implementation; the trainer sees only
// this interface.
//
//   for (int64_t epoch = 0; epoch < epochs; ++epoch) {
//     FL_RETURN_IF_ERROR(dataset.StartEpoch(epoch));
//     // in every worker:  while (dataset.Next(worker, &batch) returns true) ..
//   }
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/dataset/position.h"
#include "flotilla/tensor/batch.h"
#include "flotilla/tensor/input_spec.h"

namespace flotilla {

// Row counters of the current epoch so far; every row that was read is counted in one of them.
struct DatasetCounts {
  int64_t rows = 0;     // handed out in batches
  int64_t skipped = 0;  // bad rows, skipped because the options allow it
  int64_t dropped = 0;  // rows of a short last batch, dropped because of drop_last
  // The first few skipped rows, each "<file>:<line>:<column>: <what was expected and found>".
  std::vector<std::string> samples;

  // Total number of rows in the input.
  int64_t read() const { return rows + skipped + dropped; }

  bool operator==(const DatasetCounts&) const = default;
};

class Dataset {
 public:
  virtual ~Dataset() = default;

  // The inputs that batches carry, in the order of their fields.
  virtual std::span<const InputSpec> inputs() const = 0;

  // Starts an epoch. Its number keys all random choices in it, so the same number gives the same
  // batches again. May be called before the previous epoch has ended.
  // REQUIRES: no call of Next is in progress.
  virtual Status StartEpoch(int64_t epoch) = 0;

  // Fills `batch` with the next rows of the epoch and returns true; returns false at the end of the
  // epoch and on every further call until the next StartEpoch. Any batch may be passed, also an
  // empty one; its memory is reused. Thread-safe: each worker calls it with its own number and
  // batch.
  //
  // The epoch's batches and their ordinals do not depend on the number of workers or on their order
  // of arrival; ordinals ascend from 0 and may leave gaps. FailedPrecondition before the first
  // StartEpoch. An epoch without any rows is an error for at least one worker. The first error is
  // sticky: every call returns it until the next StartEpoch.
  // REQUIRES: worker >= 0.
  virtual StatusOr<bool> Next(int worker, Batch* batch) = 0;

  // Number of batches of an epoch if it is known in advance, otherwise 0. Valid after StartEpoch.
  virtual int64_t epoch_batches() const { return 0; }

  // Thread-safe; exact when no call of Next is in progress.
  virtual DatasetCounts counts() const = 0;

  // Names a row of a batch of this dataset, counted from 0, or with -1 all of them, for messages:
  // "a.txt, line 17". Empty: not known. Costs up to a pass over the numbers of the epoch's rows.
  // Thread-safe. REQUIRES: `batch` is of the current epoch.
  virtual std::string NameRow(const Batch& /*batch*/, int64_t /*row*/) const { return {}; }

  // The position in the epoch after the batches that were handed out so far.
  // REQUIRES: no call of Next is in progress.
  virtual DatasetPosition position() const = 0;

  // Resumes at a position taken from a dataset with the same data and options, in this or another
  // process: the following batches, with their ordinals, and the counts are the same as without the
  // interruption (samples of skipped rows start again). FailedPrecondition when the position
  // belongs to other data or options. May read up to the position, or defer that to the next call
  // of Next.
  // REQUIRES: no call of Next is in progress.
  virtual Status Resume(const DatasetPosition& position) = 0;
};

}  // namespace flotilla
