#include "flotilla/metric/mean.h"

#include <limits>
#include <utility>

namespace flotilla {

MetricSpec MeanSpec(int value, std::string name, bool is_batch_mean) {
  return {.name = std::move(name),
          .kind = "mean",
          .vars = {value},
          .params = {{"is_batch_mean", is_batch_mean ? 1.0 : 0.0}}};
}

void MeanMeter::Add(int64_t rows, std::span<const FetchedValue> inputs) {
  double sum = 0;
  for (float value : inputs[0].values) sum += value;
  total_ += is_batch_mean_ ? sum * static_cast<double>(rows) : sum;
  rows_ += static_cast<uint64_t>(rows);
}

double MeanMeter::Value() const {
  if (rows_ == 0) return std::numeric_limits<double>::quiet_NaN();
  return total_ / static_cast<double>(rows_);
}

std::vector<double> MeanMeter::State() const { return {static_cast<double>(rows_), total_}; }

Status MeanMeter::Merge(std::span<const double> state) {
  FL_RETURN_IF_ERROR(CheckStateSize(state, 2));
  FL_RETURN_IF_ERROR(AddMetricCount(state[0], &rows_));
  total_ += state[1];
  return absl::OkStatus();
}

void MeanMeter::Reset() {
  rows_ = 0;
  total_ = 0;
}

}  // namespace flotilla
