// Normalised entropy: the logloss divided by the logloss of a model that predicts the share of
// clicks for every row (He et al., Practical Lessons from Predicting Clicks on Ads at Facebook,
// 2014). Below 1 the model is better than that constant; unlike the logloss, values for data with
// different shares of clicks can be compared.
#pragma once

#include <span>
#include <vector>

#include "flotilla/metric/logloss.h"
#include "flotilla/metric/metric.h"

namespace flotilla {

// predict: (rows, 2), probabilities of the classes, or (rows, 1), the probability of class 1.
// label: (rows, 1), the number of the class; with one column also a probability in [0, 1]. The name
// is "ne".
MetricSpec NeSpec(int predict, int label);

class NeMeter final : public Metric {
 public:
  // Broken rows are those of the logloss.
  void Add(const MetricBatch& batch) override;
  // NaN also if all labels are equal.
  double Value() const override;
  MetricDirection direction() const override { return MetricDirection::kSmaller; }
  bool scores_clicks() const override { return true; }
  std::vector<double> State() const override;
  Status Merge(std::span<const double> state) override;
  void Reset() override;

 private:
  LogLossMeter loss_;
  double clicks_ = 0;
};

}  // namespace flotilla
