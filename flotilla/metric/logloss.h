// The mean negative log-likelihood of the labels, by sample weight, with probabilities clipped at
// 1e-7, so that a single confident mistake costs 16.1 instead of infinity.
#pragma once

#include <span>
#include <vector>

#include "flotilla/metric/metric.h"
#include "flotilla/metric/row_mean.h"

namespace flotilla {

// predict: (rows, classes), probabilities, or (rows, 1), the probability of class 1. label: (rows,
// 1), the number of the class; with one column also a probability in [0, 1], which makes it the
// cross entropy. The name is "logloss".
MetricSpec LogLossSpec(int predict, int label);

class LogLossMeter final : public Metric {
 public:
  // A row whose probability is NaN, or whose label is not one of the classes, is broken.
  void Add(const MetricBatch& batch) override;
  double Value() const override { return loss_.Value(); }
  MetricDirection direction() const override { return MetricDirection::kSmaller; }
  std::vector<double> State() const override;
  Status Merge(std::span<const double> state) override;
  void Reset() override { loss_ = {}; }

  // The sum of the weights of all rows.
  double weight() const { return loss_.weight(); }

 private:
  RowMean loss_;
};

}  // namespace flotilla
