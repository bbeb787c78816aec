#include "flotilla/infer/prediction_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

namespace flotilla {
namespace {

constexpr int64_t kStart = -1;  // before all ordinals
constexpr int64_t kLeft = std::numeric_limits<int64_t>::max();

std::string TextOf(std::span<const float> scores, size_t row_scores,
                   std::span<const std::string> texts) {
  fmt::memory_buffer text;
  for (size_t row = 0; row < scores.size() / row_scores; ++row) {
    const auto own = scores.subspan(row * row_scores, row_scores);
    fmt::format_to(std::back_inserter(text), "{}", fmt::join(own, "\t"));
    if (!texts.empty()) fmt::format_to(std::back_inserter(text), "\t{}", texts[row]);
    text.push_back('\n');
  }
  return fmt::to_string(text);
}

}  // namespace

StatusOr<std::unique_ptr<PredictionFile>> PredictionFile::Make(
    const std::string& path, const PredictionFileOptions& options) {
  FL_ASSIGN_OR_RETURN(OutputFile opened, OutputFile::Create(path));
  std::unique_ptr<PredictionFile> file(new PredictionFile(options));
  {
    MutexLock lock(file->mutex_);
    file->file_.emplace(std::move(opened));
  }
  return file;
}

std::unique_ptr<PredictionFile> PredictionFile::ToStream(std::ostream* stream,
                                                         const PredictionFileOptions& options) {
  std::unique_ptr<PredictionFile> file(new PredictionFile(options));
  file->stream_ = stream;
  return file;
}

PredictionFile::PredictionFile(const PredictionFileOptions& options)
    : window_(options.window),
      row_scores_(std::max<size_t>(1, options.scores.size())),
      has_columns_(!options.columns.empty()),
      floors_(options.workers, kStart) {
  FL_CHECK(options.workers >= 1);
  // The header precedes all batches.
  if (row_scores_ == 1 && !has_columns_) return;
  std::vector<std::string> names = options.scores;
  if (names.empty()) names.emplace_back("score");
  names.insert(names.end(), options.columns.begin(), options.columns.end());
  for (std::string& name : names) std::replace(name.begin(), name.end(), '\t', ' ');
  waiting_.emplace(kStart, fmt::format("{}\n", fmt::join(names, "\t")));
}

Status PredictionFile::Write(std::string_view text) {
  if (file_) return file_->Write(text);
  if (*stream_ << text) return absl::OkStatus();
  return ResourceExhausted("the scores cannot be written to standard output");
}

int64_t PredictionFile::LowestFloor() const {
  return *std::min_element(floors_.begin(), floors_.end());
}

void PredictionFile::WriteReady() {
  const int64_t lowest = LowestFloor();
  while (!waiting_.empty() && waiting_.begin()->first <= lowest) {
    const std::string& text = waiting_.begin()->second;
    if (status_.ok()) status_ = Write(text);
    waiting_.erase(waiting_.begin());
  }
  moved_.notify_all();
}

Status PredictionFile::Add(int worker, int64_t ordinal, std::span<const float> scores,
                           std::span<const std::string> texts) {
  FL_CHECK(scores.size() % row_scores_ == 0);
  FL_CHECK(texts.size() == (has_columns_ ? scores.size() / row_scores_ : 0));
  std::string text = TextOf(scores, row_scores_, texts);
  MutexLock lock(mutex_);
  FL_CHECK(ordinal > floors_[worker]);
  floors_[worker] = ordinal;
  waiting_.emplace(ordinal, std::move(text));
  WriteReady();
  // The worker that is behind all others never waits, so there is always progress.
  while (waiting_.size() > window_ && status_.ok() && floors_[worker] != LowestFloor()) {
    moved_.wait(mutex_);
  }
  return status_;
}

void PredictionFile::Leave(int worker) {
  MutexLock lock(mutex_);
  floors_[worker] = kLeft;
  WriteReady();
}

Status PredictionFile::Finish() {
  MutexLock lock(mutex_);
  FL_CHECK(LowestFloor() == kLeft);
  if (status_.ok() && file_) status_ = file_->Finish();
  return status_;
}

}  // namespace flotilla
