// The fraction of rows whose most probable class is the label.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flotilla/metric/metric.h"

namespace flotilla {

// predict: (rows, classes), or (rows, 1), the probability of class 1. label: (rows, 1), the number
// of the class. The name is "accuracy".
MetricSpec AccuracySpec(int predict, int label);

class AccuracyMeter final : public Metric {
 public:
  // The predicted class of a row is its first largest column; with a single column, class 1 if it
  // is above 0.5. A row with a NaN among its scores or as its label is broken.
  void Add(int64_t rows, std::span<const FetchedValue> inputs) override;
  double Value() const override;
  MetricDirection direction() const override { return MetricDirection::kLarger; }
  std::vector<double> State() const override;
  Status Merge(std::span<const double> state) override;
  void Reset() override;

 private:
  uint64_t rows_ = 0;
  uint64_t correct_ = 0;
  uint64_t broken_ = 0;
};

}  // namespace flotilla
