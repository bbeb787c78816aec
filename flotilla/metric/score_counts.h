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
  explicit ScoreCounts(size_t max_counts);

  // REQUIRES: IsMetricWeight(weight).
  void Add(uint32_t row, double weight = 1) { AddRows({Shifted(row, dropped_bits_), weight}); }
  void Reset();

  int dropped_bits() const { return dropped_bits_; }
  // Ascending by row: by score, negatives before positives.
  std::vector<Count> Sorted() const;

  // Appends the counts as numbers to `state`: how many follow, then dropped bits and Sorted().
  void AppendState(std::vector<double>* state) const;
  // Adds the counts of such a state and removes it from the front of *state. For a state that
  // AppendState cannot have written it returns an error and adds nothing.
  Status MergeState(std::span<const double>* state);

 private:
  static uint32_t Shifted(uint32_t row, int bits) { return row >> 1 >> bits << 1 | (row & 1); }

  void AddRows(Count count) {
    size_t i = SlotOf(count.row);
    while (slots_[i].row != count.row) {
      if (slots_[i].row == kNoRow) {
        Insert(i, count);
        return;
      }
      i = (i + 1) & (slots_.size() - 1);
    }
    slots_[i].rows += count.rows;
  }
  // Fibonacci hashing: the upper bits of the product.
  size_t SlotOf(uint32_t row) const { return row * 0x9E3779B1u >> slot_shift_; }
  // Fills the empty slot i and keeps the table within its bounds.
  void Insert(size_t i, Count count);
  // Moves everything to a table of that many slots, a power of two; keys lose `bits` more bits.
  void Rebuild(size_t slots, int bits);

  const size_t max_counts_;
  int dropped_bits_ = 0;
  // A hash table with linear probing, at most half full.
  std::vector<Count> slots_;
  int slot_shift_;
  size_t used_ = 0;
};

}  // namespace flotilla
