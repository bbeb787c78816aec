// A dataset whose first batch has been read already, so that a trainer knows before an epoch begins
// whether it has any. Around another dataset of which an epoch has started; part of a trainer.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <utility>

#include "flotilla/base/status.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/trainer/train_step.h"

namespace flotilla {

// Gives the batches of the inner dataset, in its order. Counts and position are the inner one's:
// the first batch counts as handed out, so they are right once worker 0 has asked for a batch.
class FirstBatchDataset : public Dataset {
 public:
  // REQUIRES: inner outlives the object.
  explicit FirstBatchDataset(Dataset* inner) : inner_(inner) {}

  // Reads the first batch, for worker 0 to have; whether there is one. None when a stop cancelled
  // the read. To be called once.
  StatusOr<bool> ReadFirst(const std::function<bool()>& stop) {
    FL_ASSIGN_OR_RETURN(waiting_, NextUnlessStopped(*inner_, 0, stop, &first_));
    return waiting_;
  }

  std::span<const InputSpec> inputs() const override { return inner_->inputs(); }
  Status StartEpoch(int64_t epoch) override {
    waiting_ = false;
    return inner_->StartEpoch(epoch);
  }
  StatusOr<bool> Next(int worker, Batch* batch) override {
    if (worker != 0 || !waiting_) return inner_->Next(worker, batch);
    waiting_ = false;
    std::swap(*batch, first_);
    return true;
  }
  int64_t epoch_batches() const override { return inner_->epoch_batches(); }
  DatasetCounts counts() const override { return inner_->counts(); }
  std::string NameRow(const Batch& batch, int64_t row) const override {
    return inner_->NameRow(batch, row);
  }
  DatasetPosition position() const override { return inner_->position(); }
  Status Resume(const DatasetPosition& position) override {
    waiting_ = false;
    return inner_->Resume(position);
  }

 private:
  Dataset* const inner_;
  // Worker 0's, once workers run.
  Batch first_;
  bool waiting_ = false;  // first_ is still to be handed out
};

}  // namespace flotilla
