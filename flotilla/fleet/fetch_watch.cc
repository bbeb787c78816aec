#include "flotilla/fleet/fetch_watch.h"

#include <chrono>

#include "flotilla/report/log_lines.h"

namespace flotilla {

Tensor TensorOf(const FetchedValue& value, Shape shape) {
  if (shape.per_row()) {
    shape.dims[0] = static_cast<int64_t>(value.values.size()) / value.row_size;
  } else if (shape.dims.empty()) {
    shape.dims = {1};
  }
  return {.shape = std::move(shape), .data = {value.values.begin(), value.values.end()}};
}

Tensor TensorOf(const Fetch& metric, const MetricSet& metrics) {
  const Metric& found = *metrics.Find(metric.metric);
  const double value = metric.window ? found.WindowValue() : found.Value();
  return {.shape = {{1}}, .data = {static_cast<float>(value)}};
}

FetchWatch::FetchWatch(const DatasetRunOptions* options, std::ostream* print)
    : options_(options), print_(print) {
  if (has_handler()) thread_ = std::thread(&FetchWatch::RunHandler, this);
}

FetchWatch::~FetchWatch() {
  if (!thread_.joinable()) return;
  {
    MutexLock lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

std::vector<int> FetchWatch::vars() const {
  std::vector<int> vars;
  for (const Fetch& fetch : options_->fetch_list) {
    if (fetch.metric.empty()) vars.push_back(fetch.var.index());
  }
  for (const auto& [name, fetch] : options_->fetch_handler.vars) {
    if (fetch.metric.empty()) vars.push_back(fetch.var.index());
  }
  return vars;
}

int64_t FetchWatch::batches() const { return has_handler() ? 1 : options_->print_period; }

void FetchWatch::Batch(int64_t batch, std::span<const FetchedValue> values,
                       const std::function<MetricSet()>& metrics) {
  const bool print = !options_->fetch_list.empty() && batch % options_->print_period == 0;
  const bool hand_over = wanted_.load(std::memory_order_relaxed);
  if (!print && !hand_over) return;
  const MetricSet so_far = metrics();
  if (print) Print(values, so_far);
  if (hand_over) HandOver(values, so_far);
}

void FetchWatch::Print(std::span<const FetchedValue> values, const MetricSet& metrics) {
  size_t next = 0;
  for (size_t i = 0; i < options_->fetch_list.size(); ++i) {
    const Fetch& fetch = options_->fetch_list[i];
    const std::string info = i < options_->fetch_info.size() ? options_->fetch_info[i] : "";
    const Tensor tensor = fetch.metric.empty() ? TensorOf(values[next++], fetch.var.shape())
                                               : TensorOf(fetch, metrics);
    const std::string& name = fetch.metric.empty() ? fetch.var.name() : fetch.metric;
    *print_ << FetchedText(info, name, tensor.shape.dims, tensor.data) << "\n";
  }
  print_->flush();
}

void FetchWatch::HandOver(std::span<const FetchedValue> values, const MetricSet& metrics) {
  size_t next = 0;
  for (const Fetch& fetch : options_->fetch_list) next += fetch.metric.empty() ? 1 : 0;
  MutexLock lock(mutex_);
  if (!wanted_.exchange(false)) return;
  values_.clear();
  for (const auto& [name, fetch] : options_->fetch_handler.vars) {
    values_[name] = fetch.metric.empty() ? TensorOf(values[next++], fetch.var.shape())
                                         : TensorOf(fetch, metrics);
  }
  given_ = true;
  changed_.notify_all();
}

void FetchWatch::RunHandler() {
  const std::chrono::duration<double> period(options_->fetch_handler.seconds);
  MutexLock lock(mutex_);
  while (true) {
    if (changed_.wait_for(mutex_, period, [this]() FL_REQUIRES(mutex_) { return stop_; })) return;
    wanted_ = true;
    while (!stop_ && !given_) changed_.wait(mutex_);
    if (!given_) return;
    given_ = false;
    const std::map<std::string, Tensor> values = std::move(values_);
    lock.unlock();
    options_->fetch_handler.handler(values);
    lock.lock();
  }
}

}  // namespace flotilla
