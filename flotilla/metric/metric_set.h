// The metrics of a model, fed with a step's fetched values. One per worker; merged for reports.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/metric/metric.h"
#include "flotilla/tensor/metric_spec.h"

namespace flotilla {

class MetricSet {
 public:
  // The values that the metrics read, each once: what a plan must fetch, in this order.
  static std::vector<int> Fetches(std::span<const MetricSpec> specs);

  // For values that are handed to Add in this order. Errors: a metric that is not known.
  // REQUIRES: fetches has all of Fetches(specs).
  static StatusOr<MetricSet> Make(std::span<const MetricSpec> specs, std::span<const int> fetches);
  // For the order of Fetches(specs).
  static StatusOr<MetricSet> Make(std::span<const MetricSpec> specs);

  // Counts a batch.
  void Add(int64_t rows, std::span<const FetchedValue> fetched);
  // Counts what another set of the same specs has counted.
  void Merge(const MetricSet& other);
  void Reset();

  // The metric of specs[i].
  const Metric& metric(size_t i) const { return *entries_[i].metric; }
  // The first metric of this name, or null.
  const Metric* Find(const std::string& name) const;

  // The states of all metrics, one after the other: of each its size, then Metric::State.
  std::vector<double> State() const;
  // Counts what such a state has counted. An error where it cannot be of a set of the same specs.
  Status MergeState(std::span<const double> state);

  // Names and values, in the order of the specs.
  std::vector<std::pair<std::string, double>> Values() const;
  // The same over the last batches (Metric::WindowValue).
  std::vector<std::pair<std::string, double>> WindowValues() const;
  // "auc is nan: <likely cause>" for each value that looks like a mistake; none when all is well.
  std::vector<std::string> Hints() const;

 private:
  struct Entry {
    std::string name;
    std::vector<int> inputs;  // places among the values that Add is given
    std::unique_ptr<Metric> metric;
  };
  std::vector<Entry> entries_;
  std::vector<FetchedValue> inputs_;  // reused by Add
};

}  // namespace flotilla
