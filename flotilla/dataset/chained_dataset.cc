#include "flotilla/dataset/chained_dataset.h"

#include <algorithm>
#include <utility>

#include "flotilla/dataset/epoch_ledger.h"

namespace flotilla {

namespace {

// A part is closed when as many later ones were begun: workers may still have batches of a part
// that has just ended, and bad ones are named by it.
constexpr size_t kOpenParts = 2;

}  // namespace

ChainedDataset::ChainedDataset(ChainOptions options, std::vector<int> begun)
    : options_(std::move(options)), begun_(std::move(begun)) {
  FL_CHECK(std::ranges::is_sorted(begun_));
}

void ChainedDataset::Restart(int64_t epoch, std::vector<Part> parts) {
  current_ = 0;
  MutexLock take(take_mutex_);
  last_take_ = true;
  MutexLock lock(mutex_);
  epoch_ = epoch;
  parts_ = std::move(parts);
}

Status ChainedDataset::StartEpoch(int64_t epoch) {
  if (epoch < 0) return InvalidArgument("dataset: epoch {} is negative", epoch);
  Restart(epoch, {});
  return absl::OkStatus();
}

StatusOr<bool> ChainedDataset::Take() {
  int64_t epoch;
  {
    MutexLock lock(mutex_);
    epoch = epoch_;
  }
  if (epoch < 0) return FailedPrecondition("dataset: Next before StartEpoch");
  CloseEnded();
  FL_ASSIGN_OR_RETURN(const std::optional<int> number, options_.take(epoch));
  if (!number) return false;
  FL_ASSIGN_OR_RETURN(std::shared_ptr<Dataset> rows, options_.open(*number));
  FL_RETURN_IF_ERROR(rows->StartEpoch(epoch));
  {
    MutexLock lock(mutex_);
    parts_.push_back({.number = *number, .rows = std::move(rows)});
  }
  FL_RETURN_IF_ERROR(CheckBadRows());
  return true;
}

void ChainedDataset::CloseEnded() {
  std::vector<std::shared_ptr<Dataset>> closed;  // destroyed without the lock
  MutexLock lock(mutex_);
  for (size_t i = 0; i + kOpenParts < parts_.size() && i < current_; ++i) {
    Part& part = parts_[i];
    // Otherwise a call of Next has it, or the owner of its rows.
    if (part.rows.use_count() != 1) continue;
    part.end = part.rows->position();
    part.counts = part.rows->counts();
    closed.push_back(std::move(part.rows));
    part.rows = nullptr;
  }
}

StatusOr<std::shared_ptr<Dataset>> ChainedDataset::PartAt(size_t place, int* number) {
  const auto find = [&](std::shared_ptr<Dataset>* rows) {
    MutexLock lock(mutex_);
    if (place >= parts_.size()) return false;
    *number = parts_[place].number;
    *rows = parts_[place].rows;
    return true;
  };
  *number = -1;
  std::shared_ptr<Dataset> rows;
  if (find(&rows)) return rows;
  MutexLock take(take_mutex_);
  // Another worker may have taken it meanwhile.
  if (find(&rows)) return rows;
  if (last_take_.ok() && *last_take_) last_take_ = Take();
  FL_RETURN_IF_ERROR(last_take_.status());
  find(&rows);
  return rows;
}

StatusOr<bool> ChainedDataset::Next(int worker, Batch* batch) {
  for (size_t place = current_;;) {
    int number;
    FL_ASSIGN_OR_RETURN(const std::shared_ptr<Dataset> rows, PartAt(place, &number));
    if (number < 0) return false;
    bool any = false;
    if (rows != nullptr) {
      FL_ASSIGN_OR_RETURN(any, rows->Next(worker, batch));
    }
    if (any) {
      batch->ordinal = batch->ordinal * options_.numbers + number;
      return true;
    }
    FL_RETURN_IF_ERROR(CheckBadRows());
    // Another worker may have come here first; then `place` becomes the current one.
    if (current_.compare_exchange_strong(place, place + 1)) ++place;
  }
}

Status ChainedDataset::CheckBadRows() const {
  const DatasetCounts all = counts();
  if (all.skipped <= options_.max_bad_rows) return absl::OkStatus();
  return InvalidArgument("more than {} bad rows: {}", options_.max_bad_rows,
                         all.samples.empty() ? "" : all.samples.back());
}

std::vector<const ChainedDataset::Part*> ChainedDataset::Sorted() const {
  std::vector<const Part*> parts;
  for (const Part& part : parts_) parts.push_back(&part);
  std::ranges::sort(parts, {}, &Part::number);
  return parts;
}

std::vector<int> ChainedDataset::taken() const {
  std::vector<int> numbers;
  MutexLock lock(mutex_);
  for (const Part* part : Sorted()) numbers.push_back(part->number);
  return numbers;
}

DatasetCounts ChainedDataset::counts() const {
  DatasetCounts all;
  MutexLock lock(mutex_);
  for (const Part* part : Sorted()) {
    const DatasetCounts counts = part->rows == nullptr ? part->counts : part->rows->counts();
    all.rows += counts.rows;
    all.skipped += counts.skipped;
    all.dropped += counts.dropped;
    for (const std::string& sample : counts.samples) all.samples.push_back(sample);
  }
  return all;
}

std::string ChainedDataset::NameRow(const Batch& batch, int64_t row) const {
  const auto number = static_cast<int>(batch.ordinal % options_.numbers);
  Batch own = batch;
  own.ordinal = batch.ordinal / options_.numbers;
  std::shared_ptr<Dataset> rows;
  {
    MutexLock lock(mutex_);
    const auto part = std::ranges::find(parts_, number, &Part::number);
    if (part != parts_.end()) rows = part->rows;
  }
  return rows == nullptr ? std::string() : rows->NameRow(own, row);
}

DatasetPosition ChainedDataset::position() const {
  DatasetPosition all;
  MutexLock lock(mutex_);
  all.epoch = epoch_;
  for (const Part* part : Sorted()) {
    DatasetPosition position = part->rows == nullptr ? part->end : part->rows->position();
    if (static_cast<size_t>(part - parts_.data()) < current_) {
      position.ended = true;
      position.places.clear();
    }
    all.seed = position.seed;
    all.rows += position.rows;
    all.skipped += position.skipped;
    all.dropped += position.dropped;
    all.parts.push_back(std::move(position));
  }
  return all;
}

Status ChainedDataset::Resume(const DatasetPosition& position) {
  const bool only = position.parts.empty() && begun_.size() == 1;
  if (!only && position.parts.size() != begun_.size()) {
    return FailedPrecondition("cannot resume {} shares of the rows from the positions of {}",
                              begun_.size(), position.parts.size());
  }
  std::vector<Part> parts;
  for (size_t p = 0; p < begun_.size(); ++p) {
    const DatasetPosition& at = only ? position : position.parts[p];
    Part part{.number = begun_[p]};
    if (at.ended) {
      part.end = at;
      part.counts = CountsOf(at);
    } else {
      FL_ASSIGN_OR_RETURN(part.rows, options_.open(part.number));
      FL_RETURN_IF_ERROR(part.rows->Resume(at));
    }
    parts.push_back(std::move(part));
  }
  Restart(position.epoch, std::move(parts));
  return absl::OkStatus();
}

}  // namespace flotilla
