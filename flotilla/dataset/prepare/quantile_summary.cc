#include "flotilla/dataset/prepare/quantile_summary.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace flotilla {

double QuantileSummary::Rounded(double number) const {
  if (number == 0) return 0;  // not -0
  if (dropped_bits_ == 0) return number;
  const uint64_t mask = ~((uint64_t{1} << dropped_bits_) - 1);
  return std::bit_cast<double>(std::bit_cast<uint64_t>(number) & mask);
}

void QuantileSummary::Add(std::span<const double> numbers) {
  MutexLock lock(mutex_);
  for (const double number : numbers) {
    ++counts_[Rounded(number)];
    if (counts_.size() > max_distinct_) Coarsen();
  }
  count_ += static_cast<int64_t>(numbers.size());
}

void QuantileSummary::Coarsen() {
  // A level is left only when it has too many numbers, and which numbers it has does not depend on
  // the order: so the last level does not either.
  while (counts_.size() > max_distinct_ && dropped_bits_ < 60) {
    ++dropped_bits_;
    absl::flat_hash_map<double, int64_t> coarse;
    for (const auto& [number, count] : counts_) coarse[Rounded(number)] += count;
    counts_ = std::move(coarse);
  }
}

std::vector<double> QuantileSummary::Borders(int64_t parts) const {
  MutexLock lock(mutex_);
  std::vector<std::pair<double, int64_t>> sorted(counts_.begin(), counts_.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> borders;
  int64_t before = 0;  // numbers below sorted[i]
  int64_t part = 1;
  for (const auto& [number, count] : sorted) {
    // The first number that has at least part / parts of all numbers below it.
    if (before > 0 &&
        static_cast<__int128>(before) * parts >= static_cast<__int128>(count_) * part) {
      borders.push_back(number);
      while (static_cast<__int128>(before) * parts >= static_cast<__int128>(count_) * part) ++part;
    }
    before += count;
  }
  return borders;
}

}  // namespace flotilla
