#include "flotilla/metric/accuracy.h"

#include <algorithm>
#include <cmath>
#include <limits>

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

void AccuracyMeter::Add(int64_t rows, std::span<const FetchedValue> inputs) {
  const FetchedValue& predict = inputs[0];
  const FetchedValue& labels = inputs[1];
  for (int64_t i = 0; i < rows; ++i) {
    const auto scores = predict.values.subspan(i * predict.row_size, predict.row_size);
    const float label = labels.values[i * labels.row_size];
    if (std::isnan(label) ||
        std::any_of(scores.begin(), scores.end(), [](float x) { return std::isnan(x); })) {
      ++broken_;
      continue;
    }
    ++rows_;
    if (static_cast<float>(PredictedClass(scores)) == label) ++correct_;
  }
}

double AccuracyMeter::Value() const {
  if (broken_ > 0 || rows_ == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(correct_) / static_cast<double>(rows_);
}

std::vector<double> AccuracyMeter::State() const {
  return {static_cast<double>(rows_), static_cast<double>(correct_), static_cast<double>(broken_)};
}

Status AccuracyMeter::Merge(std::span<const double> state) {
  FL_RETURN_IF_ERROR(CheckStateSize(state, 3));
  FL_RETURN_IF_ERROR(AddMetricCount(state[0], &rows_));
  FL_RETURN_IF_ERROR(AddMetricCount(state[1], &correct_));
  FL_RETURN_IF_ERROR(AddMetricCount(state[2], &broken_));
  return absl::OkStatus();
}

void AccuracyMeter::Reset() { rows_ = correct_ = broken_ = 0; }

}  // namespace flotilla
