// Several datasets as one: the batches of each, one dataset after the other. For trainers that
// train several shares of an epoch's rows, some of which they take while they train.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/dataset/dataset.h"

namespace flotilla {

// Both functions are called by one thread at a time.
struct ChainOptions {
  std::vector<InputSpec> inputs;
  // Parts have numbers below it, each another one. The ordinal of a batch is that in its part times
  // `numbers` plus the number of the part, so that it is unique in the epoch.
  int numbers = 1;
  // Returns the number of the next part of the epoch; no value: there is none.
  std::function<StatusOr<std::optional<int>>(int64_t epoch)> take;
  // Opens a part. Two parts of an epoch must not share a dataset, two epochs may.
  std::function<StatusOr<std::shared_ptr<Dataset>>(int number)> open;
  int64_t max_bad_rows = 0;   // of all parts together
  int64_t epoch_batches = 0;  // expected; 0: not known
};

// The position has those of the parts that were taken (DatasetPosition::parts), in the order of
// their numbers. A part whose batches were all handed out is not opened again to resume, and is
// closed some time after its end.
class ChainedDataset : public Dataset {
 public:
  // `begun` are the numbers of the parts in the position that the dataset is then resumed at,
  // ascending.
  explicit ChainedDataset(ChainOptions options, std::vector<int> begun = {});

  std::span<const InputSpec> inputs() const override { return options_.inputs; }
  Status StartEpoch(int64_t epoch) override;
  StatusOr<bool> Next(int worker, Batch* batch) override;
  int64_t epoch_batches() const override { return options_.epoch_batches; }
  DatasetCounts counts() const override;
  std::string NameRow(const Batch& batch, int64_t row) const override;
  DatasetPosition position() const override;
  // FailedPrecondition also if the position does not have as many parts. A position without parts
  // is that of the only one.
  Status Resume(const DatasetPosition& position) override;

  // The numbers of the parts of this epoch so far, ascending. Thread-safe.
  std::vector<int> taken() const;

 private:
  struct Part {
    int number = 0;
    std::shared_ptr<Dataset> rows;  // null: closed, or not opened to resume
    // Of a part without rows.
    DatasetPosition end;
    DatasetCounts counts;
  };

  // The part at this place of the epoch, taking it if it is the next one; *number is -1 if there is
  // none. Null: all of its batches were handed out.
  StatusOr<std::shared_ptr<Dataset>> PartAt(size_t place, int* number);
  StatusOr<bool> Take() FL_REQUIRES(take_mutex_);
  void CloseEnded();
  Status CheckBadRows() const;
  void Restart(int64_t epoch, std::vector<Part> parts);
  // In the order of their numbers.
  std::vector<const Part*> Sorted() const FL_REQUIRES(mutex_);

  const ChainOptions options_;
  const std::vector<int> begun_;
  std::atomic<size_t> current_ = 0;  // no part before it has batches left

  Mutex take_mutex_;
  StatusOr<bool> last_take_ FL_GUARDED_BY(take_mutex_) = true;  // false: no part is left
  mutable Mutex mutex_;
  int64_t epoch_ FL_GUARDED_BY(mutex_) = -1;
  std::vector<Part> parts_ FL_GUARDED_BY(mutex_);  // in the order in which they were taken
};

}  // namespace flotilla
