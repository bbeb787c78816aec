// Area under the ROC curve from counts in buckets: memory does not grow with the data, and states
// of workers and trainers add up to the global figure.
//
// A score p in [0, 1] falls into bucket int(p * num_thresholds), so there are num_thresholds + 1 of
// them; scores beyond the ends count at the ends. Scores of one bucket are ties and count half,
// which is the trapezoid under the curve. The figure is exact for scores that are multiples of 1 /
// num_thresholds and off by at most the share of pairs within one bucket otherwise.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "flotilla/metric/metric.h"

namespace flotilla {

// predict: (rows, 2), probabilities of the classes, or (rows, 1), the probability of class 1.
// label: (rows, 1), positive where it is above 0.5. The name is "auc".
MetricSpec AucSpec(int predict, int label, int num_thresholds = 4096, int slide_steps = 20);

class AucMeter final : public Metric {
 public:
  // REQUIRES: num_thresholds >= 1, slide_steps >= 0.
  AucMeter(int num_thresholds, int slide_steps);

  // inputs: predict, of which the last column is the score, and label. A row whose score or label
  // is NaN is broken: it belongs to no class and makes the figure NaN.
  void Add(int64_t rows, std::span<const MetricInput> inputs) override;
  double Value() const override;
  std::vector<double> State() const override;
  void Merge(std::span<const double> state) override;
  void Reset() override;

  // The same over the last slide_steps batches added here and, for each state merged since Reset,
  // the last ones of its metric. With slide_steps 0 there is no window and this is Value().
  double WindowValue() const override;

  // Of a figure that is NaN, below 0.5 by far, or 0.5 to three digits.
  std::string Hint() const override;

 private:
  struct Counts {
    std::vector<uint64_t> bins;  // negatives of bucket b at 2b, positives at 2b + 1
    uint64_t broken = 0;

    double Area() const;
    uint64_t Rows(int label) const;
    // How many buckets have a row: 1 where all scores are (nearly) the same.
    int UsedBuckets() const;
  };

  // The place of a row in Counts::bins, or kBroken.
  static constexpr uint32_t kBroken = ~uint32_t{0};
  uint32_t Place(float score, float label) const;
  // The batch that stands slide_steps batches back, empty now and no longer in window_.
  std::vector<uint32_t>& NextBatch();

  const int num_thresholds_;
  Counts all_;
  Counts window_;
  // The places of the rows of the last batches: a ring, whose vectors are reused.
  std::vector<std::vector<uint32_t>> recent_;
  size_t next_ = 0;
};

}  // namespace flotilla
