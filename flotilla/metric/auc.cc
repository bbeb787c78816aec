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

void AucMeter::Counts::Add(uint32_t row) {
  if (row == kBroken) {
    ++broken;
  } else {
    scores.Add(row);
  }
}

void AucMeter::Add(int64_t rows, std::span<const FetchedValue> inputs) {
  const FetchedValue& predict = inputs[0];
  const FetchedValue& label = inputs[1];
  std::vector<uint32_t>* batch = nullptr;
  if (!recent_.empty()) {
    batch = &recent_[next_];
    batch->clear();
    next_ = (next_ + 1) % recent_.size();
  }
  for (int64_t i = 0; i < rows; ++i) {
    const uint32_t row =
        RowOf(predict.values[(i + 1) * predict.row_size - 1], label.values[i * label.row_size]);
    all_.Add(row);
    if (batch != nullptr) batch->push_back(row);
  }
}

double AucMeter::Counts::Area() const {
  // In ascending order of score: each positive beats the negatives below it and half of those with
  // the same score, which come just before it.
  double pairs = 0, positives = 0, negatives = 0;
  ScoreCounts::Count before;
  for (const ScoreCounts::Count& count : scores.Sorted()) {
    const double rows = static_cast<double>(count.rows);
    if (count.row % 2 == 0) {
      negatives += rows;
    } else {
      const bool tied = before.row == count.row - 1;
      pairs += rows * (negatives - (tied ? static_cast<double>(before.rows) / 2 : 0));
      positives += rows;
    }
    before = count;
  }
  if (broken > 0 || positives == 0 || negatives == 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return pairs / (positives * negatives);
}

std::string AucMeter::Hint() const {
  const std::vector<ScoreCounts::Count> counts = all_.scores.Sorted();
  uint64_t negatives = 0, positives = 0;
  for (const ScoreCounts::Count& count : counts) {
    (count.row % 2 == 0 ? negatives : positives) += count.rows;
  }
  const uint64_t rows = negatives + positives;
  if (all_.broken > 0) {
    return fmt::format(
        "{} of {} rows have a score or label that is NaN: training diverged (try a lower learning "
        "rate or clip gradients) or the input has NaN",
        all_.broken, all_.broken + rows);
  }
  if (rows == 0) return "no rows were scored";
  if (negatives == 0 || positives == 0) {
    return fmt::format(
        "all {} labels are {}, and AUC needs both classes: check the label column and how the rows "
        "were split",
        rows, positives == 0 ? "negative" : "positive");
  }
  if (counts.front().row / 2 == counts.back().row / 2) {
    return fmt::format(
        "all {} predictions are the same: the learning rate may be 0 or far too high, the features "
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
  for (const std::vector<uint32_t>& batch : recent_) {
    for (const uint32_t row : batch) window.Add(row);
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
  for (std::vector<uint32_t>& batch : recent_) batch.clear();
}

}  // namespace flotilla
