#include "flotilla/metric/auc.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace flotilla {
namespace {

constexpr double kInvertedAuc = 0.3;
constexpr double kNoBetterThanChance = 0.0005;

}  // namespace

MetricSpec AucSpec(int predict, int label, int num_thresholds, int slide_steps) {
  MetricSpec spec{.name = "auc",
                  .kind = "auc",
                  .vars = {predict, label},
                  .params = {{"slide_steps", slide_steps}}};
  if (num_thresholds != 0) spec.params["num_thresholds"] = num_thresholds;
  return spec;
}

AucMeter::AucMeter(int num_thresholds, int slide_steps)
    : num_thresholds_(num_thresholds),
      all_(max_counts()),
      merged_window_(max_counts()),
      recent_(slide_steps) {}

size_t AucMeter::max_counts() const {
  return num_thresholds_ > 0 ? 2 * (static_cast<size_t>(num_thresholds_) + 1) : kMaxScores;
}

uint32_t AucMeter::RowOf(float score, float label) const {
  if (std::isnan(score) || std::isnan(label)) return kBroken;
  if (num_thresholds_ == 0) return ScoreCounts::Row(ScoreKey(score), label > 0.5f);
  const double p = std::clamp(static_cast<double>(score), 0.0, 1.0);
  return ScoreCounts::Row(static_cast<uint32_t>(p * num_thresholds_), label > 0.5f);
}

void AucMeter::Add(const MetricBatch& batch) {
  const FetchedValue& predict = batch.inputs[0];
  const FetchedValue& label = batch.inputs[1];
  Batch* recent = nullptr;
  if (!recent_.empty()) {
    recent = &recent_[next_];
    recent->rows.clear();
    recent->weights.assign(batch.weights.begin(), batch.weights.end());
    next_ = (next_ + 1) % recent_.size();
  }
  batch.ForEachRow([&](int64_t i, auto weight) {
    uint32_t row =
        RowOf(predict.values[(i + 1) * predict.row_size - 1], label.values[i * label.row_size]);
    if (!IsMetricWeight(weight)) row = kBroken;
    all_.Add(row, weight);
    if (recent != nullptr) recent->rows.push_back(row);
  });
}

double AucMeter::Counts::Area() const {
  RankedPairs pairs;
  for (const ScoreCounts::Count& count : scores.Sorted()) pairs.Add(count.row, count.rows);
  if (broken > 0 || !pairs.has_both_classes()) return std::numeric_limits<double>::quiet_NaN();
  return pairs.Area();
}

std::string AucMeter::Hint() const {
  const std::vector<ScoreCounts::Count>& counts = all_.scores.Sorted();
  double negatives = 0, positives = 0;
  for (const ScoreCounts::Count& count : counts) {
    (count.row % 2 == 0 ? negatives : positives) += count.rows;
  }
  const double rows = negatives + positives;
  if (all_.broken > 0) {
    return fmt::format(
        "{} of {:.0f} rows have a score or label that is NaN: training diverged (try a lower "
        "learning rate or clip gradients) or the input has NaN",
        all_.broken, static_cast<double>(all_.broken) + rows);
  }
  if (rows == 0) return "no rows were scored";
  if (negatives == 0 || positives == 0) {
    return fmt::format(
        "all {:.0f} labels are {}, and AUC needs both classes: check the label column and how the "
        "rows "
        "were split",
        rows, positives == 0 ? "negative" : "positive");
  }
  if (counts.front().row / 2 == counts.back().row / 2) {
    return fmt::format(
        "all {:.0f} predictions are the same: the learning rate may be 0 or far too high, the "
        "features "
        "empty, or the prediction not connected to them",
        rows);
  }
  const double auc = Value();
  if (auc < kInvertedAuc) {
    return "positive rows score below negative ones: labels are inverted, or the score is the "
           "probability of the wrong class";
  }
  if (std::abs(auc - 0.5) < kNoBetterThanChance) {
    return "scores say nothing about the labels yet: train longer or with a higher learning rate, "
           "and check that features and labels belong to the same rows";
  }
  return {};
}

double AucMeter::Value() const { return all_.Area(); }

AucMeter::Counts AucMeter::Window() const {
  Counts window = merged_window_;
  for (const Batch& batch : recent_) {
    for (size_t i = 0; i < batch.rows.size(); ++i) {
      window.Add(batch.rows[i], batch.weights.empty() ? 1 : batch.weights[i]);
    }
  }
  return window;
}

double AucMeter::WindowValue() const { return recent_.empty() ? all_.Area() : Window().Area(); }

std::vector<double> AucMeter::State() const {
  const Counts window = Window();
  std::vector<double> state = {static_cast<double>(all_.broken),
                               static_cast<double>(window.broken)};
  all_.scores.AppendState(&state);
  window.scores.AppendState(&state);
  return state;
}

Status AucMeter::Merge(std::span<const double> state) {
  if (state.size() < 2) return InvalidArgument("auc: the state has only {} numbers", state.size());
  FL_RETURN_IF_ERROR(AddMetricCount(state[0], &all_.broken));
  FL_RETURN_IF_ERROR(AddMetricCount(state[1], &merged_window_.broken));
  state = state.subspan(2);
  FL_RETURN_IF_ERROR(all_.scores.MergeState(&state));
  FL_RETURN_IF_ERROR(merged_window_.scores.MergeState(&state));
  if (!state.empty()) return InvalidArgument("auc: {} extra numbers after the state", state.size());
  return absl::OkStatus();
}

void AucMeter::Reset() {
  for (Counts* counts : {&all_, &merged_window_}) {
    counts->scores.Reset();
    counts->broken = 0;
  }
  for (Batch& batch : recent_) {
    batch.rows.clear();
    batch.weights.clear();
  }
}

}  // namespace flotilla
