// The mean absolute difference between prediction and label, by sample weight.
#pragma once

#include <span>
#include <vector>

#include "flotilla/metric/metric.h"
#include "flotilla/metric/row_mean.h"

namespace flotilla {

// predict and label: (rows, 1), any numbers. The name is "mae".
MetricSpec MaeSpec(int predict, int label);

class MaeMeter final : public Metric {
 public:
  // A row whose prediction or label is NaN is broken.
  void Add(const MetricBatch& batch) override;
  double Value() const override { return errors_.Value(); }
  MetricDirection direction() const override { return MetricDirection::kSmaller; }
  std::vector<double> State() const override { return errors_.State(); }
  Status Merge(std::span<const double> state) override { return errors_.Merge(state); }
  void Reset() override { errors_ = {}; }

 private:
  RowMean errors_;
};

}  // namespace flotilla
