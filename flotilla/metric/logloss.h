// The mean negative log-likelihood of the labels, with probabilities clipped at 1e-7, so that a
// single confident mistake costs 16.1 instead of infinity.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flotilla/metric/metric.h"

namespace flotilla {

// predict: (rows, classes), probabilities, or (rows, 1), the probability of class 1. label: (rows,
// 1), the number of the class; with one column also a probability in [0, 1], which makes it the
// cross entropy. The name is "logloss".
MetricSpec LogLossSpec(int predict, int label);

class LogLossMeter final : public Metric {
 public:
  // A row whose probability is NaN, or whose label is not one of the classes, is broken.
  void Add(int64_t rows, std::span<const FetchedValue> inputs) override;
  double Value() const override;
  MetricDirection direction() const override { return MetricDirection::kSmaller; }
  std::vector<double> State() const override;
  Status Merge(std::span<const double> state) override;
  void Reset() override;

 private:
  uint64_t rows_ = 0;
  uint64_t broken_ = 0;
  double total_ = 0;
};

}  // namespace flotilla
