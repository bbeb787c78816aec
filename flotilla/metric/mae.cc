#include "flotilla/metric/mae.h"

#include <cmath>

namespace flotilla {

MetricSpec MaeSpec(int predict, int label) {
  return {.name = "mae", .kind = "mae", .vars = {predict, label}, .params = {}};
}

void MaeMeter::Add(const MetricBatch& batch) {
  const FetchedValue& predict = batch.inputs[0];
  const FetchedValue& label = batch.inputs[1];
  batch.ForEachRow([&](int64_t i, auto weight) {
    const double error = static_cast<double>(predict.values[i]) - label.values[i];
    errors_.Add(std::abs(error), weight);
  });
}

}  // namespace flotilla
