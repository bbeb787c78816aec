#include "flotilla/communicator/gradient_sender.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <span>
#include <utility>

#include "flotilla/kernels/denormals.h"
#include "flotilla/kernels/vec.h"
#include "flotilla/optim/gradient_clip.h"

namespace flotilla {
namespace {

bool AllWithin(const Gradients& gradients, float limit) {
  const auto within = [limit](std::span<const float> values) {
    return kernels::AllWithin(static_cast<int64_t>(values.size()), limit, values.data());
  };
  return within(gradients.dense) &&
         std::ranges::all_of(gradients.sparse,
                             [&](const SparseRows& rows) { return within(rows.values); });
}

}  // namespace

GradientSender::GradientSender(const ModelSpec& spec, const GradientSenderOptions& options,
                               Push push)
    : spec_(spec),
      options_(options),
      push_(std::move(push)),
      queue_(static_cast<size_t>(options.queue_size)) {
  for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { Loop(); });
}

GradientSender::~GradientSender() {
  {
    MutexLock lock(mutex_);
    if (error_.ok()) error_ = absl::CancelledError("the sender of gradients has stopped");
  }
  queue_.Close();
  for (std::thread& thread : threads_) thread.join();
}

Status GradientSender::Put(int worker, Gradients& gradients) {
  {
    MutexLock lock(mutex_);
    FL_RETURN_IF_ERROR(error_);
    if (unapplied_.size() <= static_cast<size_t>(worker)) unapplied_.resize(worker + 1);
    ++unapplied_[worker];
    ++all_unapplied_;
  }
  if (queue_.Push({worker, buffers_.Exchange(gradients)})) return absl::OkStatus();
  MutexLock lock(mutex_);
  return error_;
}

Status GradientSender::WaitUntilBehind(int worker, int64_t steps) {
  MutexLock lock(mutex_);
  while (error_.ok() && static_cast<size_t>(worker) < unapplied_.size() &&
         unapplied_[worker] > steps) {
    applied_.wait(mutex_);
  }
  return error_;
}

Status GradientSender::Flush() {
  MutexLock lock(mutex_);
  while (error_.ok() && all_unapplied_ != 0) applied_.wait(mutex_);
  return error_;
}

void GradientSender::Loop() {
  const kernels::FlushDenormals flush;
  GradientMerger merger(spec_);
  Pace pace;
  while (true) {
    std::vector<Item> items = TakeItems(pace);
    if (items.empty()) return;
    {
      MutexLock lock(mutex_);
      if (!error_.ok()) return;
    }
    const auto start = std::chrono::steady_clock::now();
    const Status status = PushAll(items, &merger);
    pace.Measured(start, items.size());
    Finish(std::move(items), status);
  }
}

void GradientSender::Pace::Measured(std::chrono::steady_clock::time_point start, size_t items) {
  using Seconds = std::chrono::duration<double>;
  constexpr double kNew = 0.1;  // weight of a new measurement in the mean
  const double push = Seconds(std::chrono::steady_clock::now() - start).count();
  const double gradient = Seconds(start - last_push).count() / static_cast<double>(items);
  const bool first = last_push == std::chrono::steady_clock::time_point();
  last_push = start;
  push_seconds += (first ? 1 : kNew) * (push - push_seconds);
  if (first) return;
  gradient_seconds += (gradient_seconds == 0 ? 1 : kNew) * (gradient - gradient_seconds);
}

size_t GradientSender::WantedItems(const Pace& pace) const {
  if (options_.cost_share >= 1 || pace.gradient_seconds <= 0) return 1;
  const double wanted =
      std::ceil(pace.push_seconds / (options_.cost_share * pace.gradient_seconds));
  return static_cast<size_t>(std::clamp(wanted, 1.0, static_cast<double>(options_.max_merge)));
}

std::vector<GradientSender::Item> GradientSender::TakeItems(const Pace& pace) {
  std::vector<Item> items;
  std::optional<Item> item = queue_.Pop();
  const auto now = std::chrono::steady_clock::now();
  const auto deadline = now + std::chrono::milliseconds(options_.merge_wait_ms);
  // No longer than that should take, or the last gradients of an epoch would wait in vain.
  const size_t wanted = WantedItems(pace);
  const auto wanted_by =
      now + std::chrono::nanoseconds(std::llround(
                std::min(static_cast<double>(wanted) * pace.gradient_seconds, 1.0) * 1e9));
  while (item.has_value()) {
    items.push_back(*std::move(item));
    if (items.size() == static_cast<size_t>(options_.max_merge)) break;
    if (options_.merge_wait_ms > 0) {
      item = queue_.PopUntil(deadline);
    } else {
      item = items.size() < wanted ? queue_.PopUntil(wanted_by) : queue_.TryPop();
    }
  }
  return items;
}

Status GradientSender::PushAll(const std::vector<Item>& items, GradientMerger* merger) {
  if (items.size() > 1) {
    const auto merged = Merge(items, merger);
    // A mean is not larger than the largest.
    if (options_.average || AllWithin(*merged, LargestGradient(spec_.optimizer.clip))) {
      return push_(merged, static_cast<int64_t>(items.size()));
    }
  }
  for (const Item& item : items) FL_RETURN_IF_ERROR(push_(item.gradients, 1));
  return absl::OkStatus();
}

std::shared_ptr<const Gradients> GradientSender::Merge(const std::vector<Item>& items,
                                                       GradientMerger* merger) {
  const float scale = options_.average ? 1.0f / static_cast<float>(items.size()) : 1.0f;
  merger->Start();
  for (const Item& item : items) merger->Add(*item.gradients, scale);
  return buffers_.Exchange(merger->Result());
}

void GradientSender::Finish(std::vector<Item> items, const Status& status) {
  {
    MutexLock lock(mutex_);
    for (const Item& item : items) --unapplied_[item.worker];
    all_unapplied_ -= static_cast<int64_t>(items.size());
    // The buffers can be used again before a waiting worker asks for one.
    items.clear();
    if (error_.ok()) error_ = status;
  }
  applied_.notify_all();
  if (!status.ok()) queue_.Close();
}

}  // namespace flotilla
