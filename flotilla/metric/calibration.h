// Whether scores mean what they say: the clicks that were predicted over those that happened, of
// all rows and by decile of the score. 1 is right, 1.1 promises ten per cent too much.
//
// Rows are counted in buckets of the score, so memory does not grow with the data and states add
// up. A bucket spans 1/256 of its score, however small that is; scores below 2^-24 share one.
// Deciles are made of whole buckets, so they are exact up to the rows of a bucket at each border.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flotilla/metric/metric.h"

namespace flotilla {

// predict: (rows, 2), probabilities of the classes, or (rows, 1), the probability of class 1.
// label: (rows, 1), a click where it is above 0.5. The name is "calibration".
MetricSpec CalibrationSpec(int predict, int label);

// A part of the rows.
struct CalibrationPart {
  int64_t rows = 0;
  double predicted = 0;  // sum of the scores
  int64_t clicks = 0;

  // predicted / clicks; NaN without clicks.
  double Ratio() const;
};

class CalibrationMeter final : public Metric {
 public:
  static constexpr int kDeciles = 10;

  CalibrationMeter();

  // inputs: predict, of which the last column is the score, and label. A row whose score or label
  // is NaN is broken: it belongs to no decile and makes Value() NaN. Scores beyond [0, 1] count as
  // they are and stand in the buckets at the ends.
  void Add(int64_t rows, std::span<const FetchedValue> inputs) override;
  // Predicted over actual clicks, of all rows. NaN without clicks.
  double Value() const override;
  std::vector<double> State() const override;
  Status Merge(std::span<const double> state) override;
  void Reset() override;

  // All rows, and the same by decile of the score, lowest first. A decile is empty where the rows
  // of one bucket fill others.
  CalibrationPart All() const;
  std::vector<CalibrationPart> Deciles() const;

 private:
  std::vector<CalibrationPart> buckets_;  // scores ascending
  uint64_t broken_ = 0;
};

}  // namespace flotilla
