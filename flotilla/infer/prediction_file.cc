#include "flotilla/infer/prediction_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <limits>
#include <utility>

namespace flotilla {
namespace {

constexpr int64_t kLeft = std::numeric_limits<int64_t>::max();

std::string TextOf(std::span<const float> scores) {
  fmt::memory_buffer text;
  for (const float score : scores) fmt::format_to(std::back_inserter(text), "{}\n", score);
  return fmt::to_string(text);
}

}  // namespace

StatusOr<std::unique_ptr<PredictionFile>> PredictionFile::Make(
    const std::string& path, const PredictionFileOptions& options) {
  FL_CHECK(options.workers >= 1);
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) {
    return InvalidArgument("{}: cannot be written: {}", path, std::strerror(errno));
  }
  return std::unique_ptr<PredictionFile>(new PredictionFile(path, file, options));
}

PredictionFile::PredictionFile(std::string path, std::FILE* file,
                               const PredictionFileOptions& options)
    : path_(std::move(path)), window_(options.window), file_(file), floors_(options.workers, -1) {}

PredictionFile::~PredictionFile() {
  if (file_ != nullptr) std::fclose(file_);
}

Status PredictionFile::DiskError(const char* what) const {
  return ResourceExhausted("{}: {}: {}", path_, what, std::strerror(errno));
}

int64_t PredictionFile::LowestFloor() const {
  return *std::min_element(floors_.begin(), floors_.end());
}

void PredictionFile::WriteReady() {
  const int64_t lowest = LowestFloor();
  while (!waiting_.empty() && waiting_.begin()->first <= lowest) {
    const std::string& text = waiting_.begin()->second;
    if (status_.ok() && std::fwrite(text.data(), 1, text.size(), file_) != text.size()) {
      status_ = DiskError("cannot be written");
    }
    waiting_.erase(waiting_.begin());
  }
  moved_.notify_all();
}

Status PredictionFile::Add(int worker, int64_t ordinal, std::span<const float> scores) {
  std::string text = TextOf(scores);
  std::unique_lock lock(mutex_);
  FL_CHECK(ordinal > floors_[worker]);
  floors_[worker] = ordinal;
  waiting_.emplace(ordinal, std::move(text));
  WriteReady();
  // The worker that is behind all others never waits, so somebody always goes on.
  moved_.wait(lock, [&] {
    return waiting_.size() <= window_ || !status_.ok() || floors_[worker] == LowestFloor();
  });
  return status_;
}

void PredictionFile::Leave(int worker) {
  std::lock_guard lock(mutex_);
  floors_[worker] = kLeft;
  WriteReady();
}

Status PredictionFile::Finish() {
  std::lock_guard lock(mutex_);
  FL_CHECK(LowestFloor() == kLeft);
  if (std::fclose(std::exchange(file_, nullptr)) != 0 && status_.ok()) {
    status_ = DiskError("cannot be closed");
  }
  return status_;
}

}  // namespace flotilla
