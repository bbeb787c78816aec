// Grouped AUC: the AUC within each group of rows, e.g. the impressions of one user, averaged with
// the number of rows of the groups as weights (Zhou et al., Deep Interest Network, 2018). It
// measures the order in which a user would see items; how well scores tell one user from another
// does not count. Groups whose rows are all of one class have no AUC: they are left out and
// counted.
//
// The scores of a group must be kept until the end. Up to max_rows rows all are, and the value is
// exact. Whenever there are more, half of the groups are dropped, chosen by a hash of their ids:
// the value is then that of a random sample of 1/2, 1/4, .. of the groups with all their rows. A
// sample of half a million rows estimates the value to about 0.001. The choice depends only on the
// ids, so states of workers and trainers merge into the value of all rows, in any order.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "flotilla/metric/metric.h"

namespace flotilla {

inline constexpr int kGaucMaxRows = 1 << 20;

// predict: (rows, 2), probabilities of the classes, or (rows, 1), the probability of class 1.
// label: (rows, 1), positive if it is above 0.5. group: an ids input. The name is "gauc".
MetricSpec GaucSpec(int predict, int label, int group, int max_rows = kGaucMaxRows);

class GaucMeter final : public Metric {
 public:
  // 16 bytes per row are kept. REQUIRES: max_rows >= 1.
  explicit GaucMeter(int max_rows) : max_rows_(static_cast<size_t>(max_rows)) {}

  // inputs: predict, of which the last column is the score, and label; scores outside [0, 1] are
  // clamped. The group of a row is its first id; a row without an id is left out. A row whose score
  // or label is NaN is broken.
  void Add(const MetricBatch& batch) override;
  // NaN also if no group has rows of both classes.
  double Value() const override;
  MetricDirection direction() const override { return MetricDirection::kLarger; }
  bool scores_clicks() const override { return true; }
  std::string Hint() const override;
  // groups: that the value covers; groups_left_out: those of one class; rows_left_out: rows in such
  // groups or without a group; sample: the share of the groups that was kept, which the other
  // figures are of; 1: the value is exact.
  MetricValues Details() const override;
  std::vector<double> State() const override;
  std::vector<double> LiveState() const override;
  Status Merge(std::span<const double> state) override;
  void Reset() override;

 private:
  struct Row {
    uint64_t group = 0;
    uint32_t row = 0;  // ScoreCounts::Row
    float weight = 1;
  };

  struct Totals {
    double area = 0;  // the sum of the groups' AUCs times their weights
    double weight = 0;
    int64_t groups = 0;
    int64_t groups_left_out = 0;
    int64_t rows_left_out = 0;
  };

  bool Keeps(uint64_t group) const;
  void Append(const Row& row);
  // Drops half of the groups until at most max_rows_ rows are left.
  void Shrink();
  void SortRows() const;
  Totals Count() const;

  size_t max_rows_;
  int dropped_bits_ = 0;  // only groups whose hash ends with so many zeros are kept
  uint64_t broken_ = 0;
  uint64_t without_group_ = 0;
  // In any order; sorted by group and score when that is needed.
  mutable std::vector<Row> rows_;
  mutable bool sorted_ = true;
};

}  // namespace flotilla
