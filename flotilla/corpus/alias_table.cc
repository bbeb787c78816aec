#include "flotilla/corpus/alias_table.h"

#include <limits>
#include <numeric>

#include "flotilla/base/status.h"

namespace flotilla {

AliasTable::AliasTable(std::span<const double> weights) : entries_(weights.size()) {
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  FL_CHECK(sum > 0 && weights.size() < std::numeric_limits<uint32_t>::max());
  // Weights scaled to a mean of 1: entries below 1 are filled up from entries above 1.
  std::vector<double> share(weights.size());
  std::vector<uint32_t> small, large;
  for (size_t i = 0; i < weights.size(); ++i) {
    share[i] = weights[i] / sum * static_cast<double>(weights.size());
    (share[i] < 1 ? small : large).push_back(static_cast<uint32_t>(i));
  }
  while (!small.empty() && !large.empty()) {
    const uint32_t low = small.back(), high = large.back();
    small.pop_back();
    entries_[low] = {static_cast<uint32_t>(share[low] * 0x1p32), high};
    share[high] -= 1 - share[low];
    if (share[high] < 1) {
      large.pop_back();
      small.push_back(high);
    }
  }
  // The remaining entries are 1 except for rounding errors; they always draw their own index.
  for (const std::vector<uint32_t>* rest : {&small, &large}) {
    for (const uint32_t i : *rest) entries_[i] = {std::numeric_limits<uint32_t>::max(), i};
  }
}

}  // namespace flotilla
