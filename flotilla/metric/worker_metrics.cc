#include "flotilla/metric/worker_metrics.h"

namespace flotilla {

StatusOr<std::unique_ptr<WorkerMetrics>> WorkerMetrics::Make(std::span<const MetricSpec> specs,
                                                             std::span<const int> fetches,
                                                             int workers) {
  std::unique_ptr<WorkerMetrics> metrics(new WorkerMetrics(workers));
  for (Entry& entry : metrics->workers_) {
    MutexLock lock(entry.mutex);
    FL_ASSIGN_OR_RETURN(entry.metrics, MetricSet::Make(specs, fetches));
  }
  return metrics;
}

void WorkerMetrics::Add(int worker, int64_t rows, std::span<const FetchedValue> fetched) {
  Entry& entry = workers_[worker];
  MutexLock lock(entry.mutex);
  entry.metrics.Add(rows, fetched);
}

void WorkerMetrics::MergeTo(MetricSet* merged) const { MergeTo(merged, &MetricSet::Merge); }

void WorkerMetrics::MergeLiveTo(MetricSet* merged) const { MergeTo(merged, &MetricSet::MergeLive); }

void WorkerMetrics::MergeTo(MetricSet* merged, void (MetricSet::*merge)(const MetricSet&)) const {
  merged->Reset();
  for (const Entry& entry : workers_) {
    MutexLock lock(entry.mutex);
    (merged->*merge)(entry.metrics);
  }
}

void WorkerMetrics::Reset() {
  for (Entry& entry : workers_) {
    MutexLock lock(entry.mutex);
    entry.metrics.Reset();
  }
}

}  // namespace flotilla
