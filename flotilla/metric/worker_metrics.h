// The metric sets of all workers, so that a progress line can tell their joint figures while the
// workers go on counting. Part of a trainer.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/metric/metric_set.h"

namespace flotilla {

// Thread-safe: each worker's set has its own lock, which nobody but a report ever waits for.
class WorkerMetrics {
 public:
  // Errors: a metric that is not known. REQUIRES: workers >= 1.
  static StatusOr<std::unique_ptr<WorkerMetrics>> Make(std::span<const MetricSpec> specs,
                                                       int workers);

  // Counts a batch of a worker; fetched as in MetricSet::Add.
  void Add(int worker, int64_t rows, std::span<const FetchedValue> fetched);

  // Sets *merged, made from the same specs, to everything counted since Reset. Its window covers
  // the last batches of every worker.
  void MergeTo(MetricSet* merged) const;

  void Reset();

 private:
  struct Entry {
    mutable std::mutex mutex;
    MetricSet metrics;  // guarded by mutex
  };

  explicit WorkerMetrics(int workers) : workers_(workers) {}

  std::vector<Entry> workers_;
};

}  // namespace flotilla
