#include "flotilla/metric/accuracy.h"

#include <algorithm>
#include <cmath>

namespace flotilla {

namespace {

// REQUIRES: scores is not empty and has no NaN.
int64_t PredictedClass(std::span<const float> scores) {
  if (scores.size() == 1) return scores[0] > 0.5f ? 1 : 0;
  return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

}  // namespace

MetricSpec AccuracySpec(int predict, int label) {
  return {.name = "accuracy", .kind = "accuracy", .vars = {predict, label}, .params = {}};
}

void AccuracyMeter::Add(const MetricBatch& batch) {
  const FetchedValue& predict = batch.inputs[0];
  const FetchedValue& labels = batch.inputs[1];
  batch.ForEachRow([&](int64_t i, auto weight) {
    const auto scores = predict.values.subspan(i * predict.row_size, predict.row_size);
    const float label = labels.values[i * labels.row_size];
    const bool broken = std::isnan(label) || std::any_of(scores.begin(), scores.end(),
                                                         [](float x) { return std::isnan(x); });
    const bool correct = !broken && static_cast<float>(PredictedClass(scores)) == label;
    correct_.Add(broken ? NAN : correct, weight);
  });
}

}  // namespace flotilla
