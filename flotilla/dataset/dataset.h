// The contract of a dataset: batches of one epoch after another, handed out to the workers of a
// trainer. How rows are read, kept and ordered is the implementation's; the trainer sees only this.
//
//   for (int64_t epoch = 0; epoch < epochs; ++epoch) {
//     FL_RETURN_IF_ERROR(dataset.StartEpoch(epoch));
//     // in every worker:  while (dataset.Next(worker, &batch) gives true) ..
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

// What happened to the rows of the current epoch so far; no row is lost without being counted.
struct DatasetCounts {
  int64_t rows = 0;     // handed out in batches
  int64_t skipped = 0;  // bad rows, left out because the options allow it
  int64_t dropped = 0;  // rows of a short last batch, left out because the options say so
  // The first few of the skipped, each "<file>:<line>:<column>: <what was expected and found>".
  std::vector<std::string> samples;

  // Everything that was in the input.
  int64_t read() const { return rows + skipped + dropped; }

  bool operator==(const DatasetCounts&) const = default;
};

class Dataset {
 public:
  virtual ~Dataset() = default;

  // The inputs that batches carry, in the order of their fields.
  virtual std::span<const InputSpec> inputs() const = 0;

  // Begins an epoch; its number is the key of whatever is random in it, so the same number gives
  // the same batches again. May be called before the last epoch has ended.
  // REQUIRES: no call of Next is under way.
  virtual Status StartEpoch(int64_t epoch) = 0;

  // Fills `batch` (its memory is reused, from the first call on any batch will do) with the next
  // rows of the epoch and returns true; false at the end of the epoch, and again on every call
  // until the next StartEpoch. Thread-safe: each worker calls it with its own number and batch.
  //
  // The epoch's batches and their ordinals do not depend on the number of workers or on their
  // order of arrival; ordinals ascend from 0 and may leave gaps. FailedPrecondition before the
  // first StartEpoch. An epoch that gives no rows at all is an error for at least one worker. The
  // first error is final: until the next StartEpoch every call returns it.
  // REQUIRES: worker >= 0.
  virtual StatusOr<bool> Next(int worker, Batch* batch) = 0;

  // Batches of an epoch, where that is known before its end; else 0. After StartEpoch.
  virtual int64_t epoch_batches() const { return 0; }

  // Thread-safe; exact when no call of Next is under way.
  virtual DatasetCounts counts() const = 0;

  // Where the epoch stands after the batches that were handed out so far.
  // REQUIRES: no call of Next is under way.
  virtual DatasetPosition position() const = 0;

  // Goes on at a position that was taken from a dataset made alike, in this or another process: the
  // batches that follow, with their ordinals, and the counts are those that would have followed
  // there (samples of skipped rows begin anew). FailedPrecondition when the position is of other
  // data or options. May read up to the place, or leave that to the next call of Next.
  // REQUIRES: no call of Next is under way.
  virtual Status Resume(const DatasetPosition& position) = 0;
};

}  // namespace flotilla
