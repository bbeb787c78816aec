// The mean of a number per row, by sample weight: the sums behind metrics that average over rows.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "flotilla/metric/metric.h"

namespace flotilla {

class RowMean {
 public:
  // Adds a row. It is broken if its value is NaN or its weight is invalid.
  void Add(double value, double weight) {
    if (std::isnan(value) || !IsMetricWeight(weight)) {
      ++broken_;
      return;
    }
    weight_ += weight;
    total_ += weight * value;
  }

  // NaN without rows, or if one is broken.
  double Value() const { return broken_ > 0 || weight_ == 0 ? NAN : total_ / weight_; }
  double weight() const { return weight_; }

  // {sum of weights, sum of weight x value, broken rows}
  static constexpr size_t kStateSize = 3;
  std::vector<double> State() const { return {weight_, total_, static_cast<double>(broken_)}; }
  // Adds the numbers of such a state.
  Status Merge(double weight, double total, double broken) {
    FL_RETURN_IF_ERROR(AddMetricWeight(weight, &weight_));
    total_ += total;
    return AddMetricCount(broken, &broken_);
  }
  Status Merge(std::span<const double> state) {
    FL_RETURN_IF_ERROR(CheckStateSize(state, kStateSize));
    return Merge(state[0], state[1], state[2]);
  }

 private:
  double weight_ = 0;
  double total_ = 0;
  uint64_t broken_ = 0;
};

}  // namespace flotilla
