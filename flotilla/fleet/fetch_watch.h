// Shows values while training runs: prints a fetch list every N batches, and calls a user's handler
// every N seconds on its own thread. Part of an executor.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <ostream>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/fleet/executor.h"
#include "flotilla/graph/step.h"
#include "flotilla/metric/metric_set.h"

namespace flotilla {

// Copies a fetched value of this shape into a tensor. A scalar becomes (1).
Tensor TensorOf(const FetchedValue& value, Shape shape);
// The value of a metric as a tensor. REQUIRES: `metrics` has it.
Tensor TensorOf(const Fetch& metric, const MetricSet& metrics);

class FetchWatch {
 public:
  // REQUIRES: options and print outlive the object.
  FetchWatch(const DatasetRunOptions* options, std::ostream* print);
  // Ends the handler's thread; waits for a running call of the handler.
  ~FetchWatch();

  // The values that a trainer must fetch, in this order, and the number of batches between fetches.
  std::vector<int> vars() const;
  int64_t batches() const;

  // Called by a worker after a batch with the values of vars(); `metrics` returns the metrics so
  // far.
  void Batch(int64_t batch, std::span<const FetchedValue> values,
             const std::function<MetricSet()>& metrics);

 private:
  void Print(std::span<const FetchedValue> values, const MetricSet& metrics);
  void HandOver(std::span<const FetchedValue> values, const MetricSet& metrics);
  void RunHandler();
  bool has_handler() const { return static_cast<bool>(options_->fetch_handler.handler); }

  const DatasetRunOptions* const options_;
  std::ostream* const print_;

  std::atomic<bool> wanted_ = false;  // the handler waits for values
  Mutex mutex_;
  CondVar changed_;
  std::map<std::string, Tensor> values_ FL_GUARDED_BY(mutex_);
  bool given_ FL_GUARDED_BY(mutex_) = false;  // values_ are fresh
  bool stop_ FL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace flotilla
