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
    // The usual labels need one logarithm: the other has the factor 0.
    if (y == 0 || y == 1) return MinusLog(y == 0 ? 1 - static_cast<double>(p[0]) : p[0]);
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

void LogLossMeter::Add(const MetricBatch& batch) {
  const FetchedValue& predict = batch.inputs[0];
  const FetchedValue& label = batch.inputs[1];
  batch.ForEachRow([&](int64_t i, auto weight) {
    loss_.Add(RowLoss(predict.values.subspan(i * predict.row_size, predict.row_size),
                      label.values[i * label.row_size]),
              weight);
  });
}

// Broken rows come second: a run that was saved inside an epoch holds states in this order.
std::vector<double> LogLossMeter::State() const {
  const std::vector<double> state = loss_.State();
  return {state[0], state[2], state[1]};
}

Status LogLossMeter::Merge(std::span<const double> state) {
  FL_RETURN_IF_ERROR(CheckStateSize(state, RowMean::kStateSize));
  return loss_.Merge(state[0], state[2], state[1]);
}

}  // namespace flotilla
