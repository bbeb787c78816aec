#include "flotilla/dataset/prepare/value_counter.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <numbers>

#include "flotilla/base/hash.h"

namespace flotilla {
namespace {

constexpr uint32_t kMaxCount = std::numeric_limits<uint32_t>::max();

// Bytes per slot of absl::flat_hash_map<uint64_t, uint32_t>, which has 2^n - 1 slots and fills 7 of
// 8 before it grows.
constexpr size_t kSlotBytes = 17;

uint32_t CappedSum(uint32_t a, uint32_t b) { return b > kMaxCount - a ? kMaxCount : a + b; }

}  // namespace

ValueCounter::ValueCounter(size_t memory_bytes) {
  if (memory_bytes == 0) {
    max_distinct_ = std::numeric_limits<size_t>::max();
    return;
  }
  const size_t budget = std::max<size_t>(memory_bytes / shards_.size(), 16 * kSlotBytes);
  max_distinct_ = std::bit_floor(budget / kSlotBytes) / 8 * 7;
  width_ = budget / (kDepth * sizeof(uint32_t));
}

size_t ValueCounter::Slot(size_t row, uint64_t hash) const {
  const uint64_t mixed = Mix64(hash + (row + 1) * 0x9e3779b97f4a7c15ull);
  return row * width_ + static_cast<size_t>((static_cast<unsigned __int128>(mixed) * width_) >> 64);
}

void ValueCounter::AddTo(Shard* shard, uint64_t hash, uint32_t count) const {
  for (size_t row = 0; row < kDepth; ++row) {
    uint32_t& slot = shard->sketch[Slot(row, hash)];
    slot = CappedSum(slot, count);
  }
}

void ValueCounter::Estimate(Shard* shard) const {
  shard->sketch.resize(kDepth * width_);
  for (const auto& [hash, count] : shard->counts) AddTo(shard, hash, count);
  shard->counts = {};
}

void ValueCounter::Add(Batch* batch) {
  for (size_t s = 0; s < shards_.size(); ++s) {
    std::vector<uint64_t>& hashes = batch->hashes_[s];
    if (hashes.empty()) continue;
    Shard& shard = shards_[s];
    MutexLock lock(shard.mutex);
    shard.added += hashes.size();
    for (const uint64_t hash : hashes) {
      if (!shard.sketch.empty()) {
        AddTo(&shard, hash, 1);
        continue;
      }
      uint32_t& count = shard.counts[hash];
      count = CappedSum(count, 1);
      if (shard.counts.size() > max_distinct_) Estimate(&shard);
    }
    hashes.clear();
  }
}

uint64_t ValueCounter::CountOf(uint64_t hash) const {
  const Shard& shard = shards_[ShardOf(hash)];
  if (shard.sketch.empty()) {
    const auto found = shard.counts.find(hash);
    return found == shard.counts.end() ? 0 : found->second;
  }
  uint32_t least = kMaxCount;
  for (size_t row = 0; row < kDepth; ++row) least = std::min(least, shard.sketch[Slot(row, hash)]);
  return least;
}

bool ValueCounter::exact() const {
  for (const Shard& shard : shards_) {
    if (!shard.sketch.empty()) return false;
  }
  return true;
}

double ValueCounter::likely_excess() const {
  uint64_t most = 0;
  for (const Shard& shard : shards_) {
    if (!shard.sketch.empty()) most = std::max(most, shard.added);
  }
  // Each of the kDepth rows overestimates by more than this with probability 1/e.
  return most == 0 ? 0 : std::numbers::e * static_cast<double>(most) / static_cast<double>(width_);
}

int64_t ValueCounter::added() const {
  uint64_t added = 0;
  for (const Shard& shard : shards_) added += shard.added;
  return static_cast<int64_t>(added);
}

std::vector<std::pair<uint64_t, uint32_t>> ValueCounter::AtLeast(uint32_t least) const {
  std::vector<std::pair<uint64_t, uint32_t>> values;
  for (const Shard& shard : shards_) {
    for (const auto& [hash, count] : shard.counts) {
      if (count >= least) values.emplace_back(hash, count);
    }
  }
  std::sort(values.begin(), values.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  return values;
}

int64_t ValueCounter::distinct() const {
  int64_t distinct = 0;
  for (const Shard& shard : shards_) distinct += static_cast<int64_t>(shard.counts.size());
  return distinct;
}

}  // namespace flotilla
