#include "flotilla/dataset/epoch_ledger.h"

#include <algorithm>

#include "flotilla/base/hash.h"

namespace flotilla {

Status EpochLedger::Start(int64_t epoch, const DatasetCounts& counts) {
  if (epoch < 0) return InvalidArgument("dataset: epoch {} is negative", epoch);
  MutexLock lock(mutex_);
  epoch_ = epoch;
  counts_ = counts;
  in_hand_ = 0;
  error_ = absl::OkStatus();
  return absl::OkStatus();
}

int64_t EpochLedger::epoch() const {
  MutexLock lock(mutex_);
  return epoch_;
}

Status EpochLedger::status() const {
  MutexLock lock(mutex_);
  if (epoch_ < 0) return FailedPrecondition("dataset: Next before StartEpoch");
  return error_;
}

Status EpochLedger::FailLocked(const Status& error) {
  if (error_.ok()) error_ = error;
  return error_;
}

Status EpochLedger::Fail(const Status& error) {
  MutexLock lock(mutex_);
  return FailLocked(error);
}

void EpochLedger::BatchTaken() {
  MutexLock lock(mutex_);
  ++in_hand_;
}

void EpochLedger::BatchDone(int64_t rows) {
  MutexLock lock(mutex_);
  --in_hand_;
  counts_.rows += rows;
}

void EpochLedger::Drop(int64_t rows) {
  MutexLock lock(mutex_);
  counts_.dropped += rows;
}

Status EpochLedger::SkipBadRow(const std::string& described) {
  return SkipBadRows(1, {&described, 1});
}

Status EpochLedger::SkipBadRows(int64_t rows, std::span<const std::string> samples) {
  MutexLock lock(mutex_);
  if (rows > max_bad_rows_ - counts_.skipped) {
    // The sample that exceeds the limit, if that many samples are known.
    const size_t excess = max_bad_rows_ - counts_.skipped;
    const std::string sample = samples.empty() ? "" : samples[std::min(excess, samples.size() - 1)];
    if (max_bad_rows_ == 0) return FailLocked(InvalidArgument("{}", sample));
    return FailLocked(InvalidArgument("more than {} bad rows: {}", max_bad_rows_, sample));
  }
  counts_.skipped += rows;
  for (const std::string& sample : samples) {
    if (counts_.samples.size() < kSamples) counts_.samples.push_back(sample);
  }
  return absl::OkStatus();
}

Status EpochLedger::End() {
  MutexLock lock(mutex_);
  if (!error_.ok() || in_hand_ > 0 || counts_.rows > 0 || allow_empty_) return error_;
  return FailLocked(InvalidArgument(
      "dataset: no rows in {}: {} bad rows skipped, {} rows dropped as a short last batch", what_,
      counts_.skipped, counts_.dropped));
}

DatasetCounts EpochLedger::counts() const {
  MutexLock lock(mutex_);
  return counts_;
}

void EpochLedger::FillPosition(DatasetPosition* position) const {
  MutexLock lock(mutex_);
  position->epoch = epoch_;
  position->rows = counts_.rows;
  position->skipped = counts_.skipped;
  position->dropped = counts_.dropped;
}

DatasetCounts CountsOf(const DatasetPosition& position) {
  return {.rows = position.rows, .skipped = position.skipped, .dropped = position.dropped};
}

Status CheckSource(const DatasetPosition& position, uint64_t source) {
  if (position.epoch < 0) return FailedPrecondition("position: not inside an epoch");
  if (position.source == source) return absl::OkStatus();
  return FailedPrecondition(
      "position: taken from other files, with another parser, or with other batch or shuffle "
      "options: use those that it was taken with");
}

void SourceHash::Add(const BatchOptions& options) {
  const int64_t window_batches = options.window_batches();
  Add(options.batch_size);
  Add(options.drop_last);
  Add(window_batches);
  Add(static_cast<int64_t>(window_batches > 0 ? options.seed : 0));
}

void SourceHash::Add(std::string_view part) { value_ = HashBytes(part, value_ + part.size()); }

void SourceHash::Add(std::span<const InputSpec> inputs) {
  for (const InputSpec& input : inputs) {
    Add(input.name);
    Add(static_cast<int64_t>(input.kind));
    Add(input.width);
  }
}

}  // namespace flotilla
