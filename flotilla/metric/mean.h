// The mean per row of a value of the graph, for example of the loss. Batches are weighted by their
// number of rows, or by the sample weights of their rows.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "flotilla/metric/metric.h"

namespace flotilla {

// The sum of all elements of the value divided by the number of rows: a loss that is summed over
// the batch, or that has one element per row, gives the loss per row. For a value that is itself a
// mean over the batch (ReduceMean) set is_batch_mean: each batch is then weighted by its number of
// rows. With sample weights, elements of a value with rows are multiplied by the weights of their
// rows, and the sum of the weights takes the place of the number of rows.
MetricSpec MeanSpec(int value, std::string name = "mean", bool is_batch_mean = false);

class MeanMeter final : public Metric {
 public:
  explicit MeanMeter(bool is_batch_mean) : is_batch_mean_(is_batch_mean) {}

  // A NaN in the value, or an invalid weight, makes the result NaN.
  void Add(const MetricBatch& batch) override;
  double Value() const override;
  std::vector<double> State() const override;
  Status Merge(std::span<const double> state) override;
  void Reset() override;

 private:
  const bool is_batch_mean_;
  double rows_ = 0;  // the sum of their weights
  double total_ = 0;
};

}  // namespace flotilla
