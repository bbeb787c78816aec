#include "flotilla/server/dirty_set.h"

#include <algorithm>
#include <bit>

namespace flotilla {

void DirtySet::Mark(int trainer, std::span<const uint32_t> items, std::span<const uint64_t> keys) {
  if (items.empty()) return;
  MutexLock lock(mutex_);
  const size_t needed = size_t{*std::max_element(items.begin(), items.end())} + 1;
  if (needed > keys_.size()) keys_.resize(needed);
  for (size_t i = 0; i < items.size(); ++i) keys_[items[i]] = keys[i];
  for (size_t t = 0; t < bits_.size(); ++t) {
    if (static_cast<int>(t) == trainer) continue;
    if (bits_[t].size() * 64 < needed) bits_[t].resize(keys_.capacity() / 64 + 1);
    for (const uint32_t item : items) bits_[t][item / 64] |= uint64_t{1} << (item % 64);
  }
}

std::vector<uint64_t> DirtySet::Take(int trainer, size_t max, bool* more) {
  MutexLock lock(mutex_);
  std::vector<uint64_t>& pending = pending_[trainer];
  std::vector<uint64_t>& bits = bits_[trainer];
  size_t word = 0;
  if (pending.empty()) {
    for (; word < bits.size() && pending.size() < max; ++word) {
      while (bits[word] != 0 && pending.size() < max) {
        pending.push_back(keys_[word * 64 + static_cast<size_t>(std::countr_zero(bits[word]))]);
        bits[word] &= bits[word] - 1;
      }
    }
  }
  *more = std::any_of(bits.begin(), bits.end(), [](uint64_t w) { return w != 0; });
  return pending;
}

void DirtySet::Confirm(int trainer) {
  MutexLock lock(mutex_);
  pending_[trainer].clear();
}

size_t DirtySet::memory_bytes() const {
  MutexLock lock(mutex_);
  size_t words = keys_.capacity();
  for (const auto& bits : bits_) words += bits.capacity();
  for (const auto& pending : pending_) words += pending.capacity();
  return words * sizeof(uint64_t);
}

}  // namespace flotilla
