// Several datasets as one: the batches of each, one dataset after the other. For a trainer that
// finishes an epoch which others began, from several positions.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "flotilla/dataset/dataset.h"

namespace flotilla {

// The ordinal of a batch is unique among all parts; the position has those of the parts
// (DatasetPosition::parts).
class ChainedDataset : public Dataset {
 public:
  // REQUIRES: there are parts, and all have the same inputs.
  explicit ChainedDataset(std::vector<std::unique_ptr<Dataset>> parts);

  std::span<const InputSpec> inputs() const override { return parts_[0]->inputs(); }
  Status StartEpoch(int64_t epoch) override;
  StatusOr<bool> Next(int worker, Batch* batch) override;
  int64_t epoch_batches() const override;
  DatasetCounts counts() const override;
  std::string NameRow(const Batch& batch, int64_t row) const override;
  DatasetPosition position() const override;
  // FailedPrecondition also if the position does not have as many parts.
  Status Resume(const DatasetPosition& position) override;

 private:
  const std::vector<std::unique_ptr<Dataset>> parts_;
  std::atomic<size_t> current_ = 0;  // no part before it has batches left
};

}  // namespace flotilla
