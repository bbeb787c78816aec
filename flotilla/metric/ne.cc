#include "flotilla/metric/ne.h"

#include <cmath>

namespace flotilla {

MetricSpec NeSpec(int predict, int label) {
  return {.name = "ne", .kind = "ne", .vars = {predict, label}, .params = {}};
}

void NeMeter::Add(const MetricBatch& batch) {
  loss_.Add(batch);
  const FetchedValue& label = batch.inputs[1];
  batch.ForEachRow([&](int64_t i, double weight) {
    const double clicks = weight * label.values[i];
    // Of a broken row, which makes the value NaN anyway; clicks are checked when states merge.
    if (IsMetricWeight(clicks)) clicks_ += clicks;
  });
}

double NeMeter::Value() const {
  const double rate = clicks_ / loss_.weight();
  if (!(rate > 0 && rate < 1)) return NAN;
  return loss_.Value() / -(rate * std::log(rate) + (1 - rate) * std::log1p(-rate));
}

// The state of the logloss, then the clicks.
std::vector<double> NeMeter::State() const {
  std::vector<double> state = loss_.State();
  state.push_back(clicks_);
  return state;
}

Status NeMeter::Merge(std::span<const double> state) {
  if (state.empty()) return InvalidArgument("the state of a metric is empty");
  FL_RETURN_IF_ERROR(loss_.Merge(state.first(state.size() - 1)));
  return AddMetricWeight(state.back(), &clicks_);
}

void NeMeter::Reset() {
  loss_.Reset();
  clicks_ = 0;
}

}  // namespace flotilla
