#include "flotilla/metric/score_counts.h"

#include <array>
#include <utility>

#include "flotilla/metric/metric.h"

namespace flotilla {
namespace {

constexpr int kKeyBits = 31;
constexpr size_t kFirstSlots = 1024;

// Radix sort: several times faster than std::sort here.
void SortByRow(std::vector<ScoreCounts::Count>* counts) {
  constexpr int kDigitBits = 11;
  constexpr uint32_t kDigits = 1 << kDigitBits;
  std::vector<ScoreCounts::Count> scratch(counts->size());
  for (int shift = 0; shift < 32; shift += kDigitBits) {
    std::array<uint32_t, kDigits + 1> begin = {};
    for (const auto& count : *counts) ++begin[(count.row >> shift) % kDigits + 1];
    for (uint32_t digit = 1; digit < kDigits; ++digit) begin[digit] += begin[digit - 1];
    for (const auto& count : *counts) scratch[begin[(count.row >> shift) % kDigits]++] = count;
    counts->swap(scratch);
  }
}

}  // namespace

ScoreCounts::ScoreCounts(size_t max_counts) : max_counts_(max_counts) { Rebuild(kFirstSlots, 0); }

void ScoreCounts::Reset() {
  dropped_bits_ = 0;
  used_ = 0;
  std::fill(slots_.begin(), slots_.end(), Count{});
}

void ScoreCounts::Insert(size_t i, Count count) {
  slots_[i] = count;
  ++used_;
  while (used_ > max_counts_) Rebuild(slots_.size(), 1);
  if (2 * used_ > slots_.size()) Rebuild(2 * slots_.size(), 0);
}

void ScoreCounts::Rebuild(size_t slots, int bits) {
  const std::vector<Count> old = std::exchange(slots_, std::vector<Count>(slots));
  slot_shift_ = 33 - std::bit_width(slots);
  dropped_bits_ += bits;
  used_ = 0;
  for (const Count& count : old) {
    if (count.row != kNoRow) AddRows({Shifted(count.row, bits), count.rows});
  }
}

std::vector<ScoreCounts::Count> ScoreCounts::Sorted() const {
  std::vector<Count> counts;
  counts.reserve(used_);
  for (const Count& count : slots_) {
    if (count.row != kNoRow) counts.push_back(count);
  }
  SortByRow(&counts);
  return counts;
}

void ScoreCounts::AppendState(std::vector<double>* state) const {
  state->reserve(state->size() + 2 + 2 * used_);
  state->push_back(static_cast<double>(1 + 2 * used_));
  state->push_back(dropped_bits_);
  for (const Count& count : Sorted()) {
    state->push_back(count.row);
    state->push_back(count.rows);
  }
}

Status ScoreCounts::MergeState(std::span<const double>* state) {
  if (state->empty() || !IsMetricCount((*state)[0], static_cast<double>(state->size() - 1))) {
    return InvalidArgument("counts of scores: the state is truncated");
  }
  const auto numbers = state->subspan(1, static_cast<size_t>((*state)[0]));
  if (numbers.size() % 2 != 1 || !IsMetricCount(numbers[0], kKeyBits)) {
    return InvalidArgument("counts of scores: the state has {} numbers", numbers.size());
  }
  const int dropped = static_cast<int>(numbers[0]);
  const double last_row = static_cast<double>((kNoRow - 1) >> dropped);
  for (size_t i = 1; i < numbers.size(); i += 2) {
    if (IsMetricCount(numbers[i], last_row) && IsMetricWeight(numbers[i + 1]) &&
        (i == 1 || numbers[i] > numbers[i - 2])) {
      continue;
    }
    return InvalidArgument("counts of scores: {} rows of {} are out of order or range",
                           numbers[i + 1], numbers[i]);
  }
  if (dropped > dropped_bits_) Rebuild(slots_.size(), dropped - dropped_bits_);
  for (size_t i = 1; i < numbers.size(); i += 2) {
    // The table may drop bits during the loop.
    AddRows({Shifted(static_cast<uint32_t>(numbers[i]), dropped_bits_ - dropped), numbers[i + 1]});
  }
  *state = state->subspan(1 + numbers.size());
  return absl::OkStatus();
}

}  // namespace flotilla
