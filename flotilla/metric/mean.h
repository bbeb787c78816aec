// The mean per row of a value of the graph, for example of the loss. Batches are weighted by their
// number of rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "flotilla/metric/metric.h"

namespace flotilla {

// The sum of all elements of the value divided by the number of rows: a loss that is summed over
// the batch, or that has one element per row, gives the loss per row. For a value that is itself a
// mean over the batch (ReduceMean) set is_batch_mean: each batch is then weighted by its number of
// rows.
MetricSpec MeanSpec(int value, std::string name = "mean", bool is_batch_mean = false);

class MeanMeter final : public Metric {
 public:
  explicit MeanMeter(bool is_batch_mean) : is_batch_mean_(is_batch_mean) {}

  // A NaN in the value makes the result NaN.
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
