// The dataset of a trainer without data: every epoch ends at once. Other datasets treat an epoch
// without rows as an error, which is right for a whole job but not for one trainer of several.
#pragma once

#include <vector>

#include "flotilla/dataset/dataset.h"

namespace flotilla {

class EmptyDataset : public Dataset {
 public:
  explicit EmptyDataset(std::vector<InputSpec> inputs) : inputs_(std::move(inputs)) {}

  std::span<const InputSpec> inputs() const override { return inputs_; }
  Status StartEpoch(int64_t epoch) override {
    epoch_ = epoch;
    return absl::OkStatus();
  }
  StatusOr<bool> Next(int /*worker*/, Batch* /*batch*/) override { return false; }
  DatasetCounts counts() const override { return {}; }
  DatasetPosition position() const override { return {.epoch = epoch_, .places = {}}; }
  Status Resume(const DatasetPosition& position) override { return StartEpoch(position.epoch); }

 private:
  const std::vector<InputSpec> inputs_;
  int64_t epoch_ = -1;
};

}  // namespace flotilla
