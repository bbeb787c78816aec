// The root of the mean squared difference between prediction and label, by sample weight.
#pragma once

#include <span>
#include <vector>

#include "flotilla/metric/metric.h"
#include "flotilla/metric/row_mean.h"

namespace flotilla {

// predict and label: (rows, 1), any numbers. The name is "rmse".
MetricSpec RmseSpec(int predict, int label);

class RmseMeter final : public Metric {
 public:
  // A row whose prediction or label is NaN is broken.
  void Add(const MetricBatch& batch) override;
  double Value() const override;
  MetricDirection direction() const override { return MetricDirection::kSmaller; }
  std::vector<double> State() const override { return squares_.State(); }
  Status Merge(std::span<const double> state) override { return squares_.Merge(state); }
  void Reset() override { squares_ = {}; }

 private:
  RowMean squares_;
};

}  // namespace flotilla
