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
  return {.name = "auc",
          .kind = "auc",
          .vars = {predict, label},
          .params = {{"num_thresholds", num_thresholds}, {"slide_steps", slide_steps}}};
}

AucMeter::AucMeter(int num_thresholds, int slide_steps)
    : num_thresholds_(num_thresholds), recent_(slide_steps) {
  all_.bins.resize(2 * (static_cast<size_t>(num_thresholds) + 1));
  window_.bins.resize(all_.bins.size());
}

uint32_t AucMeter::Place(float score, float label) const {
  if (std::isnan(score) || std::isnan(label)) return kBroken;
  const double p = std::clamp(static_cast<double>(score), 0.0, 1.0);
  return 2 * static_cast<uint32_t>(p * num_thresholds_) + (label > 0.5f ? 1 : 0);
}

std::vector<uint32_t>& AucMeter::NextBatch() {
  std::vector<uint32_t>& batch = recent_[next_];
  next_ = (next_ + 1) % recent_.size();
  for (uint32_t place : batch) {
    --(place == kBroken ? window_.broken : window_.bins[place]);
  }
  batch.clear();
  return batch;
}

void AucMeter::Add(int64_t rows, std::span<const MetricInput> inputs) {
  const MetricInput& predict = inputs[0];
  const MetricInput& label = inputs[1];
  std::vector<uint32_t>* batch = recent_.empty() ? nullptr : &NextBatch();
  for (int64_t i = 0; i < rows; ++i) {
    const uint32_t place =
        Place(predict.values[(i + 1) * predict.width - 1], label.values[i * label.width]);
    ++(place == kBroken ? all_.broken : all_.bins[place]);
    if (batch == nullptr) continue;
    ++(place == kBroken ? window_.broken : window_.bins[place]);
    batch->push_back(place);
  }
}

double AucMeter::Counts::Area() const {
  // From the highest bucket down: each negative is beaten by the positives above it, and by half of
  // those in its own bucket.
  double pairs = 0, positives = 0, negatives = 0;
  for (size_t b = bins.size() / 2; b-- > 0;) {
    const double negative = static_cast<double>(bins[2 * b]);
    const double positive = static_cast<double>(bins[2 * b + 1]);
    pairs += negative * (positives + positive / 2);
    positives += positive;
    negatives += negative;
  }
  if (broken > 0 || positives == 0 || negatives == 0) {
    return std::numeric_limits<double>::quiet_NaN();
  }
  return pairs / (positives * negatives);
}

uint64_t AucMeter::Counts::Rows(int label) const {
  uint64_t rows = 0;
  for (size_t i = label; i < bins.size(); i += 2) rows += bins[i];
  return rows;
}

int AucMeter::Counts::UsedBuckets() const {
  int used = 0;
  for (size_t b = 0; b < bins.size() / 2; ++b) used += bins[2 * b] + bins[2 * b + 1] > 0 ? 1 : 0;
  return used;
}

std::string AucMeter::Hint() const {
  const uint64_t negatives = all_.Rows(0), positives = all_.Rows(1);
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
  if (all_.UsedBuckets() == 1) {
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

double AucMeter::WindowValue() const { return recent_.empty() ? all_.Area() : window_.Area(); }

std::vector<double> AucMeter::State() const {
  std::vector<double> state;
  state.reserve(2 * (all_.bins.size() + 1));
  for (const Counts* counts : {&all_, &window_}) {
    state.insert(state.end(), counts->bins.begin(), counts->bins.end());
    state.push_back(static_cast<double>(counts->broken));
  }
  return state;
}

void AucMeter::Merge(std::span<const double> state) {
  auto next = state.begin();
  for (Counts* counts : {&all_, &window_}) {
    for (uint64_t& bin : counts->bins) bin += static_cast<uint64_t>(*next++);
    counts->broken += static_cast<uint64_t>(*next++);
  }
}

void AucMeter::Reset() {
  for (Counts* counts : {&all_, &window_}) {
    std::fill(counts->bins.begin(), counts->bins.end(), 0);
    counts->broken = 0;
  }
  for (std::vector<uint32_t>& batch : recent_) batch.clear();
}

}  // namespace flotilla
