#include "flotilla/metric/calibration.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace flotilla {
namespace {

// A bucket is a score's exponent and the first 8 bits of its mantissa.
constexpr int kShift = 23 - 8;
constexpr float kLowest = 1.0f / (1 << 24);
constexpr uint32_t kLowestBits = std::bit_cast<uint32_t>(kLowest) >> kShift;
constexpr uint32_t kHighestBits = std::bit_cast<uint32_t>(1.0f) >> kShift;
// Includes one bucket for scores below kLowest.
constexpr size_t kBuckets = kHighestBits - kLowestBits + 2;

size_t BucketOf(float score) {
  if (score < kLowest) return 0;
  return (std::bit_cast<uint32_t>(std::min(score, 1.0f)) >> kShift) - kLowestBits + 1;
}

void AddTo(const CalibrationPart& part, CalibrationPart* sum) {
  sum->rows += part.rows;
  sum->predicted += part.predicted;
  sum->clicks += part.clicks;
}

}  // namespace

MetricSpec CalibrationSpec(int predict, int label) {
  return {.name = "calibration", .kind = "calibration", .vars = {predict, label}, .params = {}};
}

double CalibrationPart::Ratio() const { return clicks > 0 ? predicted / clicks : NAN; }

CalibrationMeter::CalibrationMeter() : buckets_(kBuckets) {}

void CalibrationMeter::Add(const MetricBatch& batch) {
  const FetchedValue& predict = batch.inputs[0];
  const FetchedValue& label = batch.inputs[1];
  batch.ForEachRow([&](int64_t i, auto row_weight) {
    const float score = predict.values[i * predict.row_size + predict.row_size - 1];
    const float click = label.values[i * label.row_size];
    const double weight = row_weight;
    if (std::isnan(score) || std::isnan(click) || !IsMetricWeight(weight)) {
      ++broken_;
      return;
    }
    CalibrationPart& bucket = buckets_[BucketOf(score)];
    bucket.rows += weight;
    bucket.predicted += weight * score;
    // A table, because a branch would often be mispredicted.
    static constexpr double kClicks[] = {0, 1};
    bucket.clicks += weight * kClicks[click > 0.5f];
  });
}

double CalibrationMeter::Value() const { return broken_ > 0 ? NAN : All().Ratio(); }

CalibrationPart CalibrationMeter::All() const {
  CalibrationPart all;
  for (const CalibrationPart& bucket : buckets_) AddTo(bucket, &all);
  return all;
}

// A bucket belongs to the decile that contains its middle row.
std::vector<CalibrationPart> CalibrationMeter::Deciles() const {
  std::vector<CalibrationPart> deciles(kDeciles);
  const double rows = All().rows;
  double before = 0;
  for (const CalibrationPart& bucket : buckets_) {
    if (bucket.rows == 0) continue;
    const double middle = before + bucket.rows / 2;
    const int decile = static_cast<int>(middle / rows * kDeciles);
    AddTo(bucket, &deciles[std::min(decile, kDeciles - 1)]);
    before += bucket.rows;
  }
  return deciles;
}

// Broken rows, then rows, predicted and clicks of each bucket.
std::vector<double> CalibrationMeter::State() const {
  std::vector<double> state = {static_cast<double>(broken_)};
  for (const CalibrationPart& bucket : buckets_) {
    state.push_back(bucket.rows);
    state.push_back(bucket.predicted);
    state.push_back(bucket.clicks);
  }
  return state;
}

Status CalibrationMeter::Merge(std::span<const double> state) {
  FL_RETURN_IF_ERROR(CheckStateSize(state, 1 + 3 * buckets_.size()));
  FL_RETURN_IF_ERROR(AddMetricCount(state[0], &broken_));
  for (size_t b = 0; b < buckets_.size(); ++b) {
    const auto part = state.subspan(1 + 3 * b, 3);
    FL_RETURN_IF_ERROR(AddMetricWeight(part[0], &buckets_[b].rows));
    buckets_[b].predicted += part[1];
    FL_RETURN_IF_ERROR(AddMetricWeight(part[2], &buckets_[b].clicks));
  }
  return absl::OkStatus();
}

void CalibrationMeter::Reset() {
  broken_ = 0;
  std::fill(buckets_.begin(), buckets_.end(), CalibrationPart{});
}

}  // namespace flotilla
