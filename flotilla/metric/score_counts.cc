#include "flotilla/metric/score_counts.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "flotilla/metric/metric.h"

namespace flotilla {
namespace {

constexpr int kKeyBits = 31;

// Radix sort, several times faster than std::sort here. row_of(element) is the key.
template <typename T, typename RowOf>
void SortByRow(std::vector<T>* rows, RowOf row_of) {
  constexpr int kDigitBits = 11;
  constexpr uint32_t kDigits = 1 << kDigitBits;
  if (rows->size() < kDigits / 8) {  // less work than counting digits
    std::sort(rows->begin(), rows->end(),
              [&](const T& a, const T& b) { return row_of(a) < row_of(b); });
    return;
  }
  std::vector<T> scratch(rows->size());
  for (int shift = 0; shift < 32; shift += kDigitBits) {
    std::array<uint32_t, kDigits + 1> begin = {};
    for (const T& each : *rows) ++begin[(row_of(each) >> shift) % kDigits + 1];
    for (uint32_t digit = 1; digit < kDigits; ++digit) begin[digit] += begin[digit - 1];
    for (const T& each : *rows) scratch[begin[(row_of(each) >> shift) % kDigits]++] = each;
    rows->swap(scratch);
  }
}

// Appends a count to ascending counts.
void Append(const ScoreCounts::Count& count, std::vector<ScoreCounts::Count>* counts) {
  if (!counts->empty() && counts->back().row == count.row) {
    counts->back().rows += count.rows;
  } else {
    counts->push_back(count);
  }
}

// The counts, in ascending order before and after, with keys that have lost some more bits.
std::vector<ScoreCounts::Count> WithoutBits(const std::vector<ScoreCounts::Count>& counts,
                                            int bits) {
  std::vector<ScoreCounts::Count> kept;
  kept.reserve(counts.size());
  // Keys keep their order, but the classes of a key may come in any order now.
  for (size_t i = 0; i < counts.size();) {
    const uint32_t key = counts[i].row >> 1 >> bits;
    std::array<ScoreCounts::Count, 2> classes;
    for (; i < counts.size() && counts[i].row >> 1 >> bits == key; ++i) {
      ScoreCounts::Count& sum = classes[counts[i].row % 2];
      sum.row = key << 1 | counts[i].row % 2;
      sum.rows += counts[i].rows;
    }
    for (const ScoreCounts::Count& sum : classes) {
      if (sum.row != ScoreCounts::kNoRow) kept.push_back(sum);
    }
  }
  return kept;
}

}  // namespace

void ScoreCounts::Reset() {
  dropped_bits_ = 0;
  counts_.clear();
  fresh_.clear();
  weighted_.clear();
}

int ScoreCounts::dropped_bits() const {
  CountFresh();
  return dropped_bits_;
}

const std::vector<ScoreCounts::Count>& ScoreCounts::Sorted() const {
  CountFresh();
  return counts_;
}

void ScoreCounts::CountFresh() const {
  const int dropped = dropped_bits_;
  if (!fresh_.empty()) {
    std::vector<Count> more;
    SortByRow(&fresh_, [](uint32_t row) { return row; });
    for (const uint32_t row : fresh_) Append({row, 1}, &more);
    fresh_.clear();
    Merge(std::move(more), dropped);
  }
  if (!weighted_.empty()) {
    std::vector<Count> more;
    SortByRow(&weighted_, [](const Count& count) { return count.row; });
    for (const Count& count : weighted_) Append(count, &more);
    weighted_.clear();
    Merge(std::move(more), dropped);
  }
}

void ScoreCounts::Merge(std::vector<Count> more, int dropped) const {
  if (dropped > dropped_bits_) Drop(dropped - dropped_bits_);
  if (dropped < dropped_bits_) more = WithoutBits(more, dropped_bits_ - dropped);
  if (counts_.empty()) {
    counts_ = std::move(more);
  } else {
    std::vector<Count> merged;
    merged.reserve(counts_.size() + more.size());
    auto mine = counts_.begin();
    for (const Count& count : more) {
      for (; mine != counts_.end() && mine->row <= count.row; ++mine) merged.push_back(*mine);
      Append(count, &merged);
    }
    merged.insert(merged.end(), mine, counts_.end());
    counts_ = std::move(merged);
  }
  if (counts_.size() > max_counts_) Drop(BitsToDrop());
}

// Two keys of a class become equal when all bits in which they differ have been dropped, and then
// so have all keys between them.
int ScoreCounts::BitsToDrop() const {
  std::array<size_t, kKeyBits + 1> merging = {};  // keys that become equal to the one before them
  std::array<uint32_t, 2> before = {kNoRow, kNoRow};
  for (const Count& count : counts_) {
    uint32_t& last = before[count.row % 2];
    if (last != kNoRow) ++merging[std::bit_width((last ^ count.row) >> 1)];
    last = count.row;
  }
  size_t left = counts_.size();
  int bits = 0;
  while (left > max_counts_) left -= merging[++bits];
  return bits;
}

void ScoreCounts::Drop(int bits) const {
  dropped_bits_ += bits;
  counts_ = WithoutBits(counts_, bits);
}

void ScoreCounts::AppendState(std::vector<double>* state) const {
  const std::vector<Count>& counts = Sorted();
  state->reserve(state->size() + 2 + 2 * counts.size());
  state->push_back(static_cast<double>(1 + 2 * counts.size()));
  state->push_back(dropped_bits_);
  for (const Count& count : counts) {
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
  CountFresh();
  std::vector<Count> more;
  more.reserve(numbers.size() / 2);
  for (size_t i = 1; i < numbers.size(); i += 2) {
    more.push_back({static_cast<uint32_t>(numbers[i]), numbers[i + 1]});
  }
  Merge(std::move(more), dropped);
  *state = state->subspan(1 + numbers.size());
  return absl::OkStatus();
}

}  // namespace flotilla
