#include "flotilla/dataset/cache_dataset.h"

#include <algorithm>
#include <utility>

#include "flotilla/dataset/copy_rows.h"
#include "flotilla/dataset/shuffle.h"

namespace flotilla {

StatusOr<std::unique_ptr<CacheDataset>> CacheDataset::Make(std::vector<std::string> files,
                                                           std::shared_ptr<const Parser> parser,
                                                           const QueueDatasetOptions& options,
                                                           const CacheOptions& cache) {
  // Checks the options in the same way as a stream of text.
  FL_RETURN_IF_ERROR(QueueDataset::Make(files, parser, options).status());
  FL_ASSIGN_OR_RETURN(std::unique_ptr<CacheStore> store,
                      CacheStore::Make(std::move(files), parser, options, cache));
  return std::unique_ptr<CacheDataset>(
      new CacheDataset(std::move(store), std::move(parser), options));
}

CacheDataset::CacheDataset(std::unique_ptr<CacheStore> store, std::shared_ptr<const Parser> parser,
                           const QueueDatasetOptions& options)
    : store_(std::move(store)),
      parser_(std::move(parser)),
      inputs_(parser_->inputs().begin(), parser_->inputs().end()),
      options_(options),
      window_batches_((options.shuffle_rows + options.batch_size - 1) / options.batch_size),
      ledger_(options.max_bad_rows,
              fmt::format("{} file(s), first {}", store_->sources().size(), store_->sources()[0]),
              options.allow_empty) {
  source_ = SourceOfPosition();
}

Status CacheDataset::StartEpoch(int64_t epoch) {
  FL_RETURN_IF_ERROR(ledger_.Start(epoch));
  MutexLock lock(mutex_);
  store_->Close();
  file_ = 0;
  row_ = 0;
  counted_files_ = 0;
  next_batch_ = window_batch_ = 0;
  window_.reset();
  ended_ = false;
  return absl::OkStatus();
}

uint64_t CacheDataset::SourceOfPosition() const {
  SourceHash hash("cache");
  for (const std::string& file : store_->sources()) hash.Add(file);
  hash.Add(parser_->identity());
  hash.Add(inputs_);
  hash.Add(options_.reader.source.pipe_command);
  hash.Add(options_.batch_size);
  hash.Add(options_.drop_last);
  hash.Add(window_batches_);
  hash.Add(static_cast<int64_t>(window_batches_ > 0 ? options_.seed : 0));
  return hash.value();
}

DatasetPosition CacheDataset::position() const {
  DatasetPosition position{.seed = options_.seed, .source = source_};
  ledger_.FillPosition(&position);
  if (position.epoch < 0) return position;
  MutexLock lock(mutex_);
  const bool inside = window_ != nullptr;
  position.ordinal = next_batch_;
  position.places.push_back({.file = static_cast<int64_t>(inside ? window_file_ : file_),
                             .line = inside ? window_row_ : row_,
                             .offset = static_cast<int64_t>(counted_files_),
                             .batch = inside ? window_batch_ : next_batch_,
                             .next = next_batch_});
  return position;
}

Status CacheDataset::Resume(const DatasetPosition& position) {
  FL_RETURN_IF_ERROR(CheckSource(position, source_));
  if (position.places.size() != 1 ||
      position.places[0].file > static_cast<int64_t>(store_->sources().size())) {
    return FailedPrecondition("position: belongs to other files");
  }
  FL_RETURN_IF_ERROR(ledger_.Start(position.epoch, CountsOf(position)));
  const DatasetPosition::Place& place = position.places[0];
  MutexLock lock(mutex_);
  file_ = static_cast<size_t>(place.file);
  row_ = place.line;
  counted_files_ = static_cast<size_t>(place.offset);
  window_.reset();
  window_batch_ = place.batch;
  next_batch_ = place.next;
  ended_ = false;
  return absl::OkStatus();
}

StatusOr<int64_t> CacheDataset::TakeRows(int64_t count, std::vector<Span>* spans) {
  spans->clear();
  int64_t taken = 0;
  while (taken < count && file_ < store_->sources().size()) {
    FL_ASSIGN_OR_RETURN(std::shared_ptr<const CacheFile> file, store_->Get(file_));
    if (row_ > file->rows()) {
      return FailedPrecondition("{}: has {} rows, cannot resume at row {}",
                                store_->sources()[file_], file->rows(), row_);
    }
    if (file_ >= counted_files_) {
      FL_RETURN_IF_ERROR(ledger_.SkipBadRows(file->skipped(), file->samples()));
      counted_files_ = file_ + 1;
    }
    const int64_t end = std::min(row_ + count - taken, file->rows());
    taken += end - row_;
    if (end > row_) spans->push_back({file_, file, row_, end});
    row_ = end;
    if (end == file->rows()) {
      ++file_;
      row_ = 0;
    }
  }
  return taken;
}

Status CacheDataset::Unpack(const std::vector<Span>& spans, Batch* batch) {
  batch->fields.resize(inputs_.size());
  batch->Clear();
  for (const Span& span : spans) {
    const int64_t rows_before = batch->rows;
    const Status status = span.file->Append(span.begin, span.end, batch);
    if (status.code() != absl::StatusCode::kDataLoss) {
      FL_RETURN_IF_ERROR(status);
      continue;
    }
    FL_ASSIGN_OR_RETURN(const std::shared_ptr<const CacheFile> file,
                        store_->Replace(span.index, span.file, status));
    FL_RETURN_IF_ERROR(file->Append(span.begin + batch->rows - rows_before, span.end, batch));
  }
  return absl::OkStatus();
}

Status CacheDataset::FillWindow() {
  auto window = std::make_shared<Window>();
  window_file_ = file_;
  window_row_ = row_;
  std::vector<Span> spans;
  FL_RETURN_IF_ERROR(TakeRows(window_batches_ * options_.batch_size, &spans).status());
  FL_RETURN_IF_ERROR(Unpack(spans, &window->rows));
  ShuffledOrder(WindowKey(options_.seed, ledger_.epoch(), 0, window_batch_ / window_batches_),
                window->rows.rows, &window->order);
  window_ = std::move(window);
  return absl::OkStatus();
}

StatusOr<int64_t> CacheDataset::TakeShuffled(Work* work) {
  if (window_ == nullptr) FL_RETURN_IF_ERROR(FillWindow());
  const int64_t rows = window_->rows.rows;
  work->begin = std::min((next_batch_ - window_batch_) * options_.batch_size, rows);
  work->end = std::min(work->begin + options_.batch_size, rows);
  work->window = window_;
  // The last batch of a window takes ownership of it.
  if (next_batch_ + 1 == window_batch_ + window_batches_) {
    window_.reset();
    window_batch_ = next_batch_ + 1;
  }
  return work->end - work->begin;
}

StatusOr<bool> CacheDataset::Take(Work* work, Batch* batch) {
  MutexLock lock(mutex_);
  FL_RETURN_IF_ERROR(ledger_.status());
  if (!ended_) {
    const StatusOr<int64_t> rows =
        window_batches_ > 0 ? TakeShuffled(work) : TakeRows(options_.batch_size, &work->spans);
    if (!rows.ok()) return ledger_.Fail(rows.status());
    ended_ = *rows < options_.batch_size;
    if (ended_) window_.reset();
    if (*rows > 0 && !(ended_ && options_.drop_last)) {
      batch->epoch = ledger_.epoch();
      batch->ordinal = next_batch_++;
      ledger_.BatchTaken();
      return true;
    }
    ledger_.Drop(*rows);
  }
  FL_RETURN_IF_ERROR(ledger_.End());
  return false;
}

StatusOr<bool> CacheDataset::Next(int /*worker*/, Batch* batch) {
  Work work;
  FL_ASSIGN_OR_RETURN(const bool more, Take(&work, batch));
  if (!more) {
    batch->Clear();
    return false;
  }
  Status status;
  if (work.window == nullptr) {
    status = Unpack(work.spans, batch);
  } else {
    batch->fields.resize(inputs_.size());
    batch->Clear();
    GatherRows(inputs_, work.window->rows,
               std::span(work.window->order).subspan(work.begin, work.end - work.begin), batch);
  }
  ledger_.BatchDone(status.ok() ? batch->rows : 0);
  if (!status.ok()) return ledger_.Fail(status);
  return true;
}

}  // namespace flotilla
