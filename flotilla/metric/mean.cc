#include "flotilla/metric/mean.h"

#include <cmath>
#include <utility>

namespace flotilla {

MetricSpec MeanSpec(int value, std::string name, bool is_batch_mean) {
  return {.name = std::move(name),
          .kind = "mean",
          .vars = {value},
          .params = {{"is_batch_mean", is_batch_mean ? 1.0 : 0.0}}};
}

void MeanMeter::Add(const MetricBatch& batch) {
  const FetchedValue& value = batch.inputs[0];
  double rows = 0, sum = 0;
  if (batch.weights.empty()) {
    rows = static_cast<double>(batch.rows);
    for (float element : value.values) sum += element;
  } else {
    for (int64_t i = 0; i < batch.rows; ++i) {
      rows += IsMetricWeight(batch.weights[i]) ? batch.weights[i] : NAN;
    }
    for (size_t i = 0; i < value.values.size(); ++i) {
      const double weight = value.per_row ? batch.weights[i / value.row_size] : 1.0;
      sum += weight * value.values[i];
    }
  }
  total_ += is_batch_mean_ ? sum * rows : sum;
  // A sum of weights must stay valid: it is checked when states merge.
  if (std::isnan(rows)) {
    total_ = NAN;
  } else {
    rows_ += rows;
  }
}

double MeanMeter::Value() const { return rows_ == 0 ? NAN : total_ / rows_; }

std::vector<double> MeanMeter::State() const { return {rows_, total_}; }

Status MeanMeter::Merge(std::span<const double> state) {
  FL_RETURN_IF_ERROR(CheckStateSize(state, 2));
  FL_RETURN_IF_ERROR(AddMetricWeight(state[0], &rows_));
  total_ += state[1];
  return absl::OkStatus();
}

void MeanMeter::Reset() {
  rows_ = 0;
  total_ = 0;
}

}  // namespace flotilla
