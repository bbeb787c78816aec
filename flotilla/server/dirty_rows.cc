#include "flotilla/server/dirty_rows.h"

#include <algorithm>

namespace flotilla {

DirtyRows::DirtyRows(int trainers, int tables, int64_t dense_floats)
    : dense_floats_(dense_floats), blocks_(trainers), requests_(static_cast<size_t>(trainers)) {
  for (int t = 0; t < tables; ++t) rows_.push_back(std::make_unique<DirtySet>(trainers));
}

void DirtyRows::Mark(int trainer, int table, std::span<const uint32_t> locations,
                     std::span<const uint64_t> ids) {
  rows_[table]->Mark(trainer, locations, ids);
}

void DirtyRows::MarkDense(int trainer, std::span<const float> delta) {
  std::vector<uint32_t> blocks;
  std::vector<uint64_t> begins;
  for (size_t at = 0; at < delta.size(); at += kDenseBlockFloats) {
    const auto block = delta.subspan(at, std::min<size_t>(kDenseBlockFloats, delta.size() - at));
    if (std::all_of(block.begin(), block.end(), [](float value) { return value == 0; })) continue;
    blocks.push_back(static_cast<uint32_t>(at / kDenseBlockFloats));
    begins.push_back(at);
  }
  blocks_.Mark(trainer, blocks, begins);
}

void DirtyRows::Begin(int trainer, uint64_t sequence) {
  Request& newest = requests_[trainer];
  MutexLock lock(newest.mutex);
  if (sequence <= newest.sequence) return;
  newest.sequence = sequence;
  for (const auto& rows : rows_) rows->Confirm(trainer);
  blocks_.Confirm(trainer);
}

StatusOr<DirtyRows::Changes> DirtyRows::Take(int trainer, uint64_t sequence, size_t max_rows) {
  Request& newest = requests_[trainer];
  MutexLock lock(newest.mutex);
  // No one waits for a late copy of an earlier request: it must not take keys that the next request
  // would confirm as received.
  if (newest.sequence != sequence) {
    return FailedPrecondition("pull dirty {} has been answered", sequence);
  }
  Changes changes;
  bool more = false;
  for (const auto& rows : rows_) {
    changes.ids.push_back(rows->Take(trainer, max_rows, &more));
    changes.more = changes.more || more;
  }
  for (const uint64_t key : blocks_.Take(trainer, ~size_t{0}, &more)) {
    const auto begin = static_cast<int64_t>(key);
    changes.dense.push_back({begin, std::min(dense_floats_, begin + kDenseBlockFloats)});
  }
  return changes;
}

}  // namespace flotilla
