#include "flotilla/metric/logloss.h"

#include <algorithm>
#include <cmath>

namespace flotilla {

namespace {

double MinusLog(double p) { return std::isnan(p) ? NAN : -std::log(std::clamp(p, 1e-7, 1.0)); }

// The loss of one row, NaN when it is broken.
double RowLoss(std::span<const float> p, float label) {
  if (p.size() == 1) {
    if (!(label >= 0 && label <= 1)) return NAN;
    const double y = label;
    return y * MinusLog(p[0]) + (1 - y) * MinusLog(1 - static_cast<double>(p[0]));
  }
  if (!(label >= 0 && label < static_cast<float>(p.size()))) return NAN;
  const size_t column = static_cast<size_t>(label);
  return static_cast<float>(column) == label ? MinusLog(p[column]) : NAN;
}

}  // namespace

MetricSpec LogLossSpec(int predict, int label) {
  return {.name = "logloss", .kind = "logloss", .vars = {predict, label}, .params = {}};
}

void LogLossMeter::Add(int64_t rows, std::span<const FetchedValue> inputs) {
  const FetchedValue& predict = inputs[0];
  const FetchedValue& label = inputs[1];
  for (int64_t i = 0; i < rows; ++i) {
    const double loss = RowLoss(predict.values.subspan(i * predict.row_size, predict.row_size),
                                label.values[i * label.row_size]);
    if (std::isnan(loss)) {
      ++broken_;
      continue;
    }
    ++rows_;
    total_ += loss;
  }
}

double LogLossMeter::Value() const {
  if (broken_ > 0 || rows_ == 0) return NAN;
  return total_ / static_cast<double>(rows_);
}

std::vector<double> LogLossMeter::State() const {
  return {static_cast<double>(rows_), static_cast<double>(broken_), total_};
}

Status LogLossMeter::Merge(std::span<const double> state) {
  FL_RETURN_IF_ERROR(CheckStateSize(state, 3));
  FL_RETURN_IF_ERROR(AddMetricCount(state[0], &rows_));
  FL_RETURN_IF_ERROR(AddMetricCount(state[1], &broken_));
  total_ += state[2];
  return absl::OkStatus();
}

void LogLossMeter::Reset() {
  rows_ = broken_ = 0;
  total_ = 0;
}

}  // namespace flotilla
