// The items of one kind (rows of a table, or dense blocks) that a trainer has not seen since others
// changed them: one bit per item and trainer. dirty_rows.h has one per kind.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flotilla/base/mutex.h"

namespace flotilla {

// Items are numbered from 0, without large gaps: the rows of a table by their location, the blocks
// of a dense slice by position. Thread-safe.
class DirtySet {
 public:
  // REQUIRES: trainers >= 1.
  explicit DirtySet(int trainers) : bits_(trainers), pending_(trainers) {}

  // Records that `trainer` has changed items, which the others have not seen. keys[i] is what Take
  // returns for items[i]; an item always has the same key.
  void Mark(int trainer, std::span<const uint32_t> items, std::span<const uint64_t> keys);

  // Up to `max` keys of items that others changed since this trainer last took them. They count as
  // seen only after Confirm, so that a lost answer can be repeated: without a Confirm in between
  // the same keys are returned again. *more becomes whether there are others.
  std::vector<uint64_t> Take(int trainer, size_t max, bool* more);
  void Confirm(int trainer);

  size_t memory_bytes() const;

 private:
  mutable Mutex mutex_;
  // Per trainer: one bit per item; keys taken and not confirmed.
  std::vector<std::vector<uint64_t>> bits_ FL_GUARDED_BY(mutex_);
  std::vector<std::vector<uint64_t>> pending_ FL_GUARDED_BY(mutex_);
  std::vector<uint64_t> keys_ FL_GUARDED_BY(mutex_);  // per item
};

}  // namespace flotilla
