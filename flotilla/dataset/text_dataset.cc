#include "flotilla/dataset/text_dataset.h"

#include <utility>

namespace flotilla {

StatusOr<std::unique_ptr<TextDataset>> TextDataset::Make(std::vector<std::string> files,
                                                         std::shared_ptr<const Parser> parser,
                                                         const TextDatasetOptions& options) {
  if (files.empty()) return InvalidArgument("dataset: no files given");
  if (options.batch_size < 1) {
    return InvalidArgument("dataset: batch_size {} is less than 1", options.batch_size);
  }
  return std::unique_ptr<TextDataset>(
      new TextDataset(std::move(files), std::move(parser), options));
}

TextDataset::TextDataset(std::vector<std::string> files, std::shared_ptr<const Parser> parser,
                         const TextDatasetOptions& options)
    : files_(std::move(files)),
      parser_(std::move(parser)),
      options_(options),
      reader_(files_, options.reader) {}

Status TextDataset::StartEpoch(int64_t epoch) {
  if (epoch < 0) return InvalidArgument("dataset: epoch {} is negative", epoch);
  std::lock_guard lock(mutex_);
  reader_.Rewind();
  epoch_ = epoch;
  next_ordinal_ = 0;
  counts_ = {};
  error_ = absl::OkStatus();
  return absl::OkStatus();
}

DatasetCounts TextDataset::counts() const {
  std::lock_guard lock(mutex_);
  return counts_;
}

Status TextDataset::CheckNotEmpty() const {
  // While others still parse, the last of them finds out.
  if (being_parsed_ > 0 || counts_.rows > 0) return absl::OkStatus();
  return InvalidArgument(
      "dataset: no rows in {} file(s), first {}: {} bad rows skipped, {} rows dropped as a short "
      "last batch",
      files_.size(), files_[0], counts_.skipped, counts_.dropped);
}

StatusOr<bool> TextDataset::TakeLines(int worker, TextLines** lines, Batch* batch) {
  std::lock_guard lock(mutex_);
  if (epoch_ < 0) return FailedPrecondition("dataset: Next before StartEpoch");
  FL_RETURN_IF_ERROR(error_);
  while (worker >= static_cast<int>(scratch_.size())) {
    scratch_.push_back(std::make_unique<TextLines>());
  }
  *lines = scratch_[worker].get();
  StatusOr<int64_t> taken = reader_.Take(options_.batch_size, *lines);
  if (!taken.ok()) return error_ = taken.status();
  int64_t count = *taken;
  if (options_.drop_last && count < options_.batch_size) {
    counts_.dropped += count;
    count = 0;
  }
  if (count == 0) {
    error_ = CheckNotEmpty();
    if (!error_.ok()) return error_;
    return false;
  }
  batch->epoch = epoch_;
  batch->ordinal = next_ordinal_++;
  ++being_parsed_;
  return true;
}

Status TextDataset::CountBadRow(const Status& error, int file, int64_t line) {
  std::lock_guard lock(mutex_);
  if (counts_.skipped < options_.max_bad_rows) {
    ++counts_.skipped;
    return absl::OkStatus();
  }
  Status located = InvalidArgument("{}:{}:{}", files_[file], line, Message(error));
  if (options_.max_bad_rows > 0) {
    located = Annotate(located, fmt::format("more than {} bad rows", options_.max_bad_rows));
  }
  if (error_.ok()) error_ = located;
  return error_;
}

Status TextDataset::ParseLines(const TextLines& lines, Batch* batch) {
  batch->fields.resize(inputs().size());
  batch->Clear();
  LineCursor cursor(lines);
  std::string_view line;
  while (cursor.Next(&line)) {
    const Status status = parser_->Parse(line, batch);
    if (!status.ok()) {
      FL_RETURN_IF_ERROR(CountBadRow(status, cursor.file(), cursor.line_number()));
    }
  }
  return absl::OkStatus();
}

StatusOr<bool> TextDataset::Next(int worker, Batch* batch) {
  while (true) {
    TextLines* lines = nullptr;
    FL_ASSIGN_OR_RETURN(const bool more, TakeLines(worker, &lines, batch));
    if (!more) {
      batch->Clear();
      return false;
    }
    const Status status = ParseLines(*lines, batch);
    {
      std::lock_guard lock(mutex_);
      --being_parsed_;
      if (status.ok()) counts_.rows += batch->rows;
    }
    FL_RETURN_IF_ERROR(status);
    if (batch->rows > 0) return true;
  }
}

}  // namespace flotilla
