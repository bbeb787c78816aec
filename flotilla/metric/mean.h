// The mean per row of a value of the graph, for example of the loss. Short batches weigh less.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "flotilla/metric/metric.h"

namespace flotilla {

// All elements of the value are added up and divided by the rows: a loss that is summed over the
// batch, or that has one element per row, gives the loss per row. For a value that is itself a mean
// over the batch (ReduceMean) set is_batch_mean: each batch then weighs as many times as it has
// rows.
MetricSpec MeanSpec(int value, std::string name = "mean", bool is_batch_mean = false);

class MeanMeter final : public Metric {
 public:
  explicit MeanMeter(bool is_batch_mean) : is_batch_mean_(is_batch_mean) {}

  // A NaN in the value makes the figure NaN.
  void Add(int64_t rows, std::span<const FetchedValue> inputs) override;
  double Value() const override;
  std::vector<double> State() const override;
  Status Merge(std::span<const double> state) override;
  void Reset() override;

 private:
  const bool is_batch_mean_;
  uint64_t rows_ = 0;
  double total_ = 0;
};

}  // namespace flotilla
