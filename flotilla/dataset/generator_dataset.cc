#include "flotilla/dataset/generator_dataset.h"

#include <algorithm>
#include <utility>

#include "flotilla/dataset/copy_rows.h"
#include "flotilla/dataset/prefetch_dataset.h"
#include "flotilla/dataset/shuffle.h"

namespace flotilla {

StatusOr<std::unique_ptr<Dataset>> GeneratorDataset::Make(std::vector<InputSpec> inputs,
                                                          MakeRowGenerator make_generator,
                                                          const GeneratorOptions& options) {
  if (options.batch_size < 1) {
    return InvalidArgument("dataset: batch_size {} is less than 1", options.batch_size);
  }
  if (options.shuffle_rows < 0 || options.shuffle_rows > (int64_t{1} << 31)) {
    return InvalidArgument("dataset: shuffle_rows {} is out of range", options.shuffle_rows);
  }
  std::unique_ptr<Dataset> dataset(
      new GeneratorDataset(std::move(inputs), std::move(make_generator), options));
  if (options.prefetch_batches == 0) return dataset;
  return PrefetchDataset::Make(std::move(dataset), options.prefetch_batches, options.interrupt);
}

GeneratorDataset::GeneratorDataset(std::vector<InputSpec> inputs, MakeRowGenerator make_generator,
                                   const GeneratorOptions& options)
    : inputs_(std::move(inputs)),
      make_generator_(std::move(make_generator)),
      options_(options),
      window_batches_((options.shuffle_rows + options.batch_size - 1) / options.batch_size),
      ledger_(0, "the output of the generator") {}

Status GeneratorDataset::StartEpoch(int64_t epoch) {
  FL_RETURN_IF_ERROR(ledger_.Start(epoch));
  MutexLock lock(mutex_);
  StatusOr<RowGenerator> generator = make_generator_(epoch);
  if (!generator.ok()) return ledger_.Fail(Annotate(generator.status(), "generator"));
  generator_ = *std::move(generator);
  pending_.fields.resize(inputs_.size());
  pending_.Clear();
  pending_begin_ = 0;
  generator_ended_ = ended_ = false;
  next_batch_ = 0;
  return absl::OkStatus();
}

uint64_t GeneratorDataset::SourceOfPosition() const {
  SourceHash hash("generator");
  hash.Add(inputs_);
  hash.Add(options_.batch_size);
  hash.Add(options_.drop_last);
  hash.Add(window_batches_);
  hash.Add(static_cast<int64_t>(window_batches_ > 0 ? options_.seed : 0));
  return hash.value();
}

DatasetPosition GeneratorDataset::position() const {
  DatasetPosition position{.seed = options_.seed, .source = SourceOfPosition()};
  ledger_.FillPosition(&position);
  MutexLock lock(mutex_);
  position.ordinal = next_batch_;
  return position;
}

Status GeneratorDataset::Resume(const DatasetPosition& position) {
  FL_RETURN_IF_ERROR(CheckSource(position, SourceOfPosition()));
  FL_RETURN_IF_ERROR(StartEpoch(position.epoch));
  Batch left_out;
  MutexLock lock(mutex_);
  while (next_batch_ < position.ordinal) {
    FL_ASSIGN_OR_RETURN(const bool more, NextLocked(&left_out));
    if (!more) {
      return ledger_.Fail(
          FailedPrecondition("resume: the generator produced {} batches, cannot resume after {}",
                             next_batch_, position.ordinal));
    }
  }
  return absl::OkStatus();
}

Status GeneratorDataset::Generate(int64_t count, Batch* batch) {
  while (true) {
    const int64_t taken = std::min(count - batch->rows, pending_.rows - pending_begin_);
    AppendRows(inputs_, pending_, pending_begin_, pending_begin_ + taken, batch);
    pending_begin_ += taken;
    if (batch->rows == count || generator_ended_) return absl::OkStatus();
    pending_.Clear();
    pending_begin_ = 0;
    if (options_.interrupt != nullptr) FL_RETURN_IF_ERROR(options_.interrupt->status());
    const StatusOr<bool> more = generator_(&pending_);
    if (!more.ok()) return Annotate(more.status(), "generator");
    generator_ended_ = !*more;
    if (generator_ended_) pending_.Clear();
    FL_RETURN_IF_ERROR(Annotate(pending_.Check(inputs_), "generator"));
    if (*more && pending_.rows == 0)
      return InvalidArgument("generator: returned true but added no rows");
  }
}

Status GeneratorDataset::FillWindow() {
  window_.fields.resize(inputs_.size());
  window_.Clear();
  FL_RETURN_IF_ERROR(Generate(window_batches_ * options_.batch_size, &window_));
  ShuffledOrder(WindowKey(options_.seed, ledger_.epoch(), 0, next_batch_ / window_batches_),
                window_.rows, &order_);
  return absl::OkStatus();
}

Status GeneratorDataset::FillBatch(Batch* batch) {
  if (window_batches_ == 0) return Generate(options_.batch_size, batch);
  const int64_t in_window = next_batch_ % window_batches_;
  if (in_window == 0) FL_RETURN_IF_ERROR(FillWindow());
  const int64_t begin = std::min(in_window * options_.batch_size, window_.rows);
  const int64_t end = std::min(begin + options_.batch_size, window_.rows);
  GatherRows(inputs_, window_, std::span(order_).subspan(begin, end - begin), batch);
  return absl::OkStatus();
}

StatusOr<bool> GeneratorDataset::NextLocked(Batch* batch) {
  FL_RETURN_IF_ERROR(ledger_.status());
  batch->fields.resize(inputs_.size());
  batch->Clear();
  if (!ended_) {
    const Status status = FillBatch(batch);
    if (!status.ok()) return ledger_.Fail(status);
    ended_ = batch->rows < options_.batch_size;
    if (batch->rows > 0 && !(ended_ && options_.drop_last)) {
      batch->epoch = ledger_.epoch();
      batch->ordinal = next_batch_++;
      ledger_.BatchTaken();
      ledger_.BatchDone(batch->rows);
      return true;
    }
    ledger_.Drop(batch->rows);
    batch->Clear();
  }
  FL_RETURN_IF_ERROR(ledger_.End());
  return false;
}

StatusOr<bool> GeneratorDataset::Next(int /*worker*/, Batch* batch) {
  MutexLock lock(mutex_);
  return NextLocked(batch);
}

}  // namespace flotilla
