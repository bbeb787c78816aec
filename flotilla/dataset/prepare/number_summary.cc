#include "flotilla/dataset/prepare/number_summary.h"

#include <algorithm>
#include <bit>
#include <utility>
#include <vector>

namespace flotilla {
namespace {

// The largest number of the step that contains `number`. The numbers of a step agree in their first
// eleven binary digits, so the relative width of a step is below 2^-10, and small numbers have a
// step of their own.
int64_t StepOf(int64_t number) {
  const uint64_t size = number < 0 ? -static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
  const int shift = std::max(0, static_cast<int>(std::bit_width(size)) - 11);
  const uint64_t low = (uint64_t{1} << shift) - 1;
  return static_cast<int64_t>(number < 0 ? -(size & ~low) : size | low);
}

}  // namespace

void NumberSummary::Add(std::span<const int64_t> numbers) {
  MutexLock lock(mutex_);
  for (const int64_t number : numbers) {
    min_ = std::min(min_, number);
    max_ = std::max(max_, number);
    ++counts_[exact_ ? number : StepOf(number)];
    if (counts_.size() > max_distinct_) Coarsen();
  }
  count_ += static_cast<int64_t>(numbers.size());
}

void NumberSummary::Coarsen() {
  exact_ = false;
  absl::flat_hash_map<int64_t, int64_t> steps;
  for (const auto& [number, count] : counts_) steps[StepOf(number)] += count;
  counts_ = std::move(steps);
}

int64_t NumberSummary::Percentile(int percent) const {
  MutexLock lock(mutex_);
  if (count_ == 0) return 0;
  std::vector<std::pair<int64_t, int64_t>> sorted(counts_.begin(), counts_.end());
  std::sort(sorted.begin(), sorted.end());
  // ceil(count * percent / 100), without overflow.
  const int64_t rank = count_ / 100 * percent + (count_ % 100 * percent + 99) / 100;
  int64_t below = 0;
  for (const auto& [number, count] : sorted) {
    below += count;
    if (below >= rank) return std::min(number, max_);
  }
  return max_;
}

}  // namespace flotilla
