#include "flotilla/dataset/chained_dataset.h"

#include <algorithm>
#include <utility>

namespace flotilla {

ChainedDataset::ChainedDataset(std::vector<std::unique_ptr<Dataset>> parts)
    : parts_(std::move(parts)) {
  FL_CHECK(!parts_.empty());
}

Status ChainedDataset::StartEpoch(int64_t epoch) {
  for (const auto& part : parts_) FL_RETURN_IF_ERROR(part->StartEpoch(epoch));
  current_ = 0;
  return absl::OkStatus();
}

StatusOr<bool> ChainedDataset::Next(int worker, Batch* batch) {
  const auto parts = static_cast<int64_t>(parts_.size());
  for (size_t part = current_; part < parts_.size();) {
    FL_ASSIGN_OR_RETURN(const bool any, parts_[part]->Next(worker, batch));
    if (any) {
      batch->ordinal = batch->ordinal * parts + static_cast<int64_t>(part);
      return true;
    }
    // Another worker may have come here first; then `part` becomes the current one.
    if (current_.compare_exchange_strong(part, part + 1)) ++part;
  }
  return false;
}

int64_t ChainedDataset::epoch_batches() const {
  int64_t batches = 0;
  for (const auto& part : parts_) batches += part->epoch_batches();
  return batches;
}

DatasetCounts ChainedDataset::counts() const {
  DatasetCounts all;
  for (const auto& part : parts_) {
    DatasetCounts counts = part->counts();
    all.rows += counts.rows;
    all.skipped += counts.skipped;
    all.dropped += counts.dropped;
    std::move(counts.samples.begin(), counts.samples.end(), std::back_inserter(all.samples));
  }
  return all;
}

std::string ChainedDataset::NameRow(const Batch& batch, int64_t row) const {
  const auto parts = static_cast<int64_t>(parts_.size());
  Batch own = batch;
  own.ordinal = batch.ordinal / parts;
  return parts_[static_cast<size_t>(batch.ordinal % parts)]->NameRow(own, row);
}

DatasetPosition ChainedDataset::position() const {
  DatasetPosition all;
  for (const auto& part : parts_) {
    DatasetPosition position = part->position();
    all.epoch = position.epoch;
    all.seed = position.seed;
    all.rows += position.rows;
    all.skipped += position.skipped;
    all.dropped += position.dropped;
    all.parts.push_back(std::move(position));
  }
  return all;
}

Status ChainedDataset::Resume(const DatasetPosition& position) {
  if (position.parts.size() != parts_.size()) {
    return FailedPrecondition("cannot resume {} shares of the rows from the positions of {}",
                              parts_.size(), position.parts.size());
  }
  for (size_t p = 0; p < parts_.size(); ++p) {
    FL_RETURN_IF_ERROR(parts_[p]->Resume(position.parts[p]));
  }
  current_ = 0;
  return absl::OkStatus();
}

}  // namespace flotilla
