// The metric sets of all workers of a training or an evaluation, so that a progress line can show
// their combined values while the workers continue.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"
#include "flotilla/metric/metric_set.h"

namespace flotilla {

// Thread-safe: each worker's set has its own lock, which only a report contends for.
class WorkerMetrics {
 public:
  // For values that are passed to Add in the order of `fetches` (MetricSet::Make). Errors: an
  // unknown metric. REQUIRES: workers >= 1.
  static StatusOr<std::unique_ptr<WorkerMetrics>> Make(std::span<const MetricSpec> specs,
                                                       std::span<const int> fetches, int workers);

  // Adds a batch of a worker; `fetched` as in MetricSet::Add.
  void Add(int worker, int64_t rows, std::span<const FetchedValue> fetched);

  // Sets *merged, created from the same specs, to everything counted since Reset. Its window covers
  // the last batches of every worker.
  void MergeTo(MetricSet* merged) const;
  // The same for figures that are shown while an epoch runs (Metric::LiveState).
  void MergeLiveTo(MetricSet* merged) const;

  void Reset();

 private:
  struct Entry {
    mutable Mutex mutex;
    MetricSet metrics FL_GUARDED_BY(mutex);
  };

  void MergeTo(MetricSet* merged, void (MetricSet::*merge)(const MetricSet&)) const;

  explicit WorkerMetrics(int workers) : workers_(workers) {}

  std::vector<Entry> workers_;
};

}  // namespace flotilla
