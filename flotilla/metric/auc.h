// Area under the ROC curve. Memory does not grow with the data, and states of workers and trainers
// merge into the global value, in any order.
//
// Without num_thresholds, scores are counted in a histogram of adaptive resolution
// (score_counts.h): exact for up to kMaxScores distinct scores of positives and of negatives in
// total; beyond that, scores share a bucket if they differ by a small part of their distance to the
// nearer of 0 and 1, so that rare positives and rare negatives are ranked as well as a balanced
// set.
//
// With num_thresholds, a score p in [0, 1] falls into bucket int(p * num_thresholds): the AUC of
// PaddlePaddle 1.x, which is biased when most scores fall into few buckets.
//
// Scores outside [0, 1] are clamped. Scores in one bucket are ties and count half, which is the
// trapezoid under the curve: the error is at most half the fraction of pairs of a positive and a
// negative that share a bucket.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "flotilla/metric/metric.h"
#include "flotilla/metric/score_counts.h"

namespace flotilla {

// predict: (rows, 2), probabilities of the classes, or (rows, 1), the probability of class 1.
// label: (rows, 1), positive if it is above 0.5. num_thresholds 0: not set. The name is "auc".
MetricSpec AucSpec(int predict, int label, int num_thresholds = 0, int slide_steps = 20);

class AucMeter final : public Metric {
 public:
  static constexpr size_t kMaxScores = size_t{1} << 15;

  // REQUIRES: num_thresholds >= 0 (0: not set), slide_steps >= 0.
  AucMeter(int num_thresholds, int slide_steps);

  // inputs: predict, of which the last column is the score, and label. A row whose score or label
  // is NaN is broken: it belongs to no class and makes the value NaN.
  void Add(const MetricBatch& batch) override;
  double Value() const override;
  MetricDirection direction() const override { return MetricDirection::kLarger; }
  bool scores_clicks() const override { return true; }
  std::vector<double> State() const override;
  Status Merge(std::span<const double> state) override;
  void Reset() override;

  // The AUC over the last slide_steps batches added here and, for each state merged since Reset,
  // the last batches of its metric. With slide_steps 0 there is no window and this is Value().
  bool has_window() const override { return !recent_.empty(); }
  double WindowValue() const override;

  // A hint if the value is NaN, far below 0.5, or 0.5 to three digits.
  std::string Hint() const override;

 private:
  static constexpr uint32_t kBroken = ~uint32_t{0};  // not a valid ScoreCounts::Row

  struct Counts {
    explicit Counts(size_t max_counts) : scores(max_counts) {}

    void Add(uint32_t row, double weight) {
      if (row == kBroken) {
        ++broken;
      } else {
        scores.Add(row, weight);
      }
    }
    double Area() const;

    ScoreCounts scores;
    uint64_t broken = 0;
  };

  struct Batch {
    std::vector<uint32_t> rows;
    std::vector<float> weights;  // empty: all 1
  };

  uint32_t RowOf(float score, float label) const;
  size_t max_counts() const;
  // The merged windows and the recent batches.
  Counts Window() const;

  const int num_thresholds_;
  Counts all_;
  Counts merged_window_;  // windows of merged states
  // The rows of the last batches: a ring, whose vectors are reused.
  std::vector<Batch> recent_;
  size_t next_ = 0;
};

}  // namespace flotilla
