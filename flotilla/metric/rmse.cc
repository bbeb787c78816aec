#include "flotilla/metric/rmse.h"

#include <cmath>

namespace flotilla {

MetricSpec RmseSpec(int predict, int label) {
  return {.name = "rmse", .kind = "rmse", .vars = {predict, label}, .params = {}};
}

void RmseMeter::Add(const MetricBatch& batch) {
  const FetchedValue& predict = batch.inputs[0];
  const FetchedValue& label = batch.inputs[1];
  batch.ForEachRow([&](int64_t i, auto weight) {
    const double error = static_cast<double>(predict.values[i]) - label.values[i];
    squares_.Add(error * error, weight);
  });
}

double RmseMeter::Value() const { return std::sqrt(squares_.Value()); }

}  // namespace flotilla
