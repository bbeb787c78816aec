// A histogram of scores by class whose resolution adapts to the scores: the counts behind AUC. Rows
// count by their sample weight.
//
// A score is represented by a whole number (ScoreKey). As long as there are at most max_counts
// distinct pairs of score and class, the histogram is exact; whenever there would be more, it drops
// the lowest bit of all keys. The result depends only on the set of added rows, not on their order
// or on how they were distributed over merged histograms (with weights that are not whole numbers,
// up to the rounding of their sums).
//
// Not thread-safe.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>
#include <vector>

#include "flotilla/base/status.h"

namespace flotilla {

// The order-preserving key of a score in [0, 1]; scores outside are clamped. Different scores have
// different keys. Both ends have relative resolution: dropping the lowest n bits merges scores that
// differ by less than 2^(n-23) of their distance to the nearer end.
// REQUIRES: score is not NaN.
inline uint32_t ScoreKey(float score) {
  constexpr uint32_t kHalf = std::bit_cast<uint32_t>(0.5f);
  if (!(score > 0)) return 0;
  if (score <= 0.5f) return std::bit_cast<uint32_t>(score);
  return 2 * kHalf - std::bit_cast<uint32_t>(1 - std::min(score, 1.0f));  // 1 - score is exact
}

// The share of pairs of a positive and a negative row in which the positive has the higher score;
// equal scores count half. This is the area under the ROC curve.
class RankedPairs {
 public:
  // REQUIRES: rows (ScoreCounts::Row) come in ascending order.
  void Add(uint32_t row, double weight) {
    if (row % 2 == 0) {
      if (row != tied_row_) tied_ = 0;
      tied_row_ = row;
      tied_ += weight;
      negatives_ += weight;
    } else {
      pairs_ += weight * (negatives_ - (row - 1 == tied_row_ ? tied_ / 2 : 0));
      positives_ += weight;
    }
  }
  bool has_both_classes() const { return positives_ > 0 && negatives_ > 0; }
  double weight() const { return positives_ + negatives_; }
  // REQUIRES: has_both_classes().
  double Area() const { return pairs_ / (positives_ * negatives_); }

 private:
  double pairs_ = 0, positives_ = 0, negatives_ = 0;
  uint32_t tied_row_ = ~uint32_t{0};  // the last negative row
  double tied_ = 0;                   // the weight of the negatives with its score
};

class ScoreCounts {
 public:
  // A row: its key, and 1 in the lowest bit if it is positive. REQUIRES: key < 2^31 - 1.
  static uint32_t Row(uint32_t key, bool positive) { return 2 * key + (positive ? 1 : 0); }

  static constexpr uint32_t kNoRow = ~uint32_t{0};

  // Rows of one score and class.
  struct Count {
    uint32_t row = kNoRow;  // its key has lost dropped_bits() bits
    double rows = 0;        // the sum of their weights

    bool operator==(const Count&) const = default;
  };

  // REQUIRES: max_counts >= 2.
  explicit ScoreCounts(size_t max_counts) : max_counts_(max_counts) {}

  // REQUIRES: IsMetricWeight(weight).
  void Add(uint32_t row, double weight = 1) {
    if (weight == 1) {
      fresh_.push_back(Shifted(row, dropped_bits_));
    } else {
      weighted_.push_back({Shifted(row, dropped_bits_), weight});
    }
    if (fresh_.size() + weighted_.size() == kMaxFresh) CountFresh();
  }
  void Reset();

  int dropped_bits() const;
  // Ascending by row: by score, negatives before positives. Valid until the next call of a method
  // that is not const.
  const std::vector<Count>& Sorted() const;

  // Appends the counts as numbers to `state`: how many follow, then dropped bits and Sorted().
  void AppendState(std::vector<double>* state) const;
  // Adds the counts of such a state and removes it from the front of *state. For a state that
  // AppendState cannot have written it returns an error and adds nothing.
  Status MergeState(std::span<const double>* state);

 private:
  // Rows are sorted so many at a time: two arrays of them fit the L2 cache.
  static constexpr size_t kMaxFresh = size_t{1} << 16;

  static uint32_t Shifted(uint32_t row, int bits) { return row >> 1 >> bits << 1 | (row & 1); }

  // Moves the fresh rows to counts_. Const, since only the representation changes.
  void CountFresh() const;
  // Adds counts in ascending order, whose keys have lost `dropped` bits, to counts_.
  void Merge(std::vector<Count> more, int dropped) const;
  // Drops bits of all keys.
  void Drop(int bits) const;
  // The smallest number of bits that must be dropped to stay within max_counts_.
  int BitsToDrop() const;

  const size_t max_counts_;
  mutable int dropped_bits_ = 0;
  // Ascending and distinct, at most max_counts_.
  mutable std::vector<Count> counts_;
  // Added since, in any order; their keys have lost dropped_bits_ bits.
  mutable std::vector<uint32_t> fresh_;  // of weight 1
  mutable std::vector<Count> weighted_;
};

}  // namespace flotilla
