// The metrics of a model, fed with a step's fetched values. One per worker; merged for reports.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/metric/calibration.h"
#include "flotilla/metric/metric.h"
#include "flotilla/tensor/metric_spec.h"
#include "flotilla/tensor/metric_values.h"

namespace flotilla {

class MetricSet {
 public:
  // The values that the metrics read, with their weights and groups, without duplicates: a plan
  // must fetch them in this order.
  static std::vector<int> Fetches(std::span<const MetricSpec> specs);

  // Creates a set for values that are passed to Add in this order. Errors: an unknown metric.
  // REQUIRES: fetches has all of Fetches(specs).
  static StatusOr<MetricSet> Make(std::span<const MetricSpec> specs, std::span<const int> fetches);
  // Creates a set for the order of Fetches(specs).
  static StatusOr<MetricSet> Make(std::span<const MetricSpec> specs);

  // Adds a batch.
  void Add(int64_t rows, std::span<const FetchedValue> fetched);
  // Adds the counts of another set of the same specs.
  void Merge(const MetricSet& other);
  // The same for figures that are shown while an epoch runs (Metric::LiveState).
  void MergeLive(const MetricSet& other);
  void Reset();

  // The metric of specs[i].
  const Metric& metric(size_t i) const { return *entries_[i].metric; }
  // The first metric of this name, or null.
  const Metric* Find(const std::string& name) const;

  // The first calibration, or null.
  const CalibrationMeter* FindCalibration() const;

  // The states of all metrics, one after the other: for each metric its size, then Metric::State.
  std::vector<double> State() const;
  // Adds the counts of such a state. Returns an error if it cannot be that of a set of the same
  // specs.
  Status MergeState(std::span<const double> state);

  // Names and values, in the order of the specs.
  MetricValues Values() const;
  // The same over the last batches, of the metrics that keep such a window.
  MetricValues WindowValues() const;
  // Metric::Details of all metrics, under names such as "gauc_groups".
  MetricValues Details() const;
  // "auc is nan: <likely cause>" for each suspicious value; empty if there is none.
  std::vector<std::string> Hints() const;

 private:
  struct Entry {
    std::string name;
    std::vector<int> inputs;  // indices of the values passed to Add
    int weight = -1;          // the same, or -1
    int group = -1;
    std::unique_ptr<Metric> metric;
  };
  std::vector<Entry> entries_;
  std::vector<FetchedValue> inputs_;  // reused by Add
};

}  // namespace flotilla
