// Calibration of scores: the ratio of predicted to actual clicks, over all rows and by decile of
// the score. 1 is perfect, 1.1 means that ten percent too many clicks are predicted. Rows and
// clicks count by sample weight.
//
// Rows are counted in buckets of the score, so memory does not grow with the data and states can be
// added. The width of a bucket is 1/256 of its score, for any score; scores below 2^-24 share one
// bucket. Deciles consist of whole buckets, so they are exact up to the rows of one bucket at each
// boundary.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flotilla/metric/metric.h"

namespace flotilla {

// predict: (rows, 2), probabilities of the classes, or (rows, 1), the probability of class 1.
// label: (rows, 1), a click if it is above 0.5. The name is "calibration".
MetricSpec CalibrationSpec(int predict, int label);

// Totals of a subset of the rows.
struct CalibrationPart {
  double rows = 0;
  double predicted = 0;  // sum of the scores
  double clicks = 0;

  // predicted / clicks; NaN without clicks.
  double Ratio() const;
};

class CalibrationMeter final : public Metric {
 public:
  static constexpr int kDeciles = 10;

  CalibrationMeter();

  // inputs: predict, of which the last column is the score, and label. A row whose score or label
  // is NaN is broken: it belongs to no decile and makes Value() NaN. Scores outside [0, 1] are
  // summed unchanged and counted in the first or last bucket.
  void Add(const MetricBatch& batch) override;
  // Ratio of predicted to actual clicks over all rows. NaN without clicks.
  double Value() const override;
  std::vector<double> State() const override;
  Status Merge(std::span<const double> state) override;
  void Reset() override;

  // Totals of all rows, and by decile of the score, lowest first. A decile is empty if the rows of
  // a single bucket span several deciles.
  CalibrationPart All() const;
  std::vector<CalibrationPart> Deciles() const;

 private:
  std::vector<CalibrationPart> buckets_;  // scores ascending
  uint64_t broken_ = 0;
};

}  // namespace flotilla
