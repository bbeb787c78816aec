// The fraction of rows whose most probable class is the label, by sample weight.
#pragma once

#include <span>
#include <vector>

#include "flotilla/metric/metric.h"
#include "flotilla/metric/row_mean.h"

namespace flotilla {

// predict: (rows, classes), or (rows, 1), the probability of class 1. label: (rows, 1), the number
// of the class. The name is "accuracy".
MetricSpec AccuracySpec(int predict, int label);

class AccuracyMeter final : public Metric {
 public:
  // The predicted class of a row is its first largest column; with a single column, class 1 if it
  // is above 0.5. A row with a NaN among its scores or as its label is broken.
  void Add(const MetricBatch& batch) override;
  double Value() const override { return correct_.Value(); }
  MetricDirection direction() const override { return MetricDirection::kLarger; }
  std::vector<double> State() const override { return correct_.State(); }
  Status Merge(std::span<const double> state) override { return correct_.Merge(state); }
  void Reset() override { correct_ = {}; }

 private:
  RowMean correct_;  // of 1 for a correct row, 0 for another
};

}  // namespace flotilla
