#include "flotilla/tensor/unique_ids.h"

#include <algorithm>
#include <bit>

#include "flotilla/base/status.h"

namespace flotilla {

void UniqueIds::Reset(size_t occurrences) {
  // The next batch will have about as many distinct ids as the last one.
  const size_t expected = std::min(ids_.size() + ids_.size() / 4, occurrences);
  ids_.clear();
  ids_.reserve(occurrences);
  // A quarter full or less: a collision costs a mispredicted branch.
  ClearSlots(std::bit_ceil(std::max<size_t>(16, 4 * expected)));
}

void UniqueIds::ClearSlots(size_t slots) {
  slots_.assign(slots, 0);
  mask_ = slots - 1;
  shift_ = 64 - std::countr_zero(slots);
}

void UniqueIds::Add(std::span<const uint64_t> occurrences, std::span<uint32_t> positions) {
  FL_CHECK(positions.size() == occurrences.size());
  for (size_t i = 0; i < occurrences.size(); ++i) {
    const uint64_t id = occurrences[i];
    size_t slot = SlotOf(id);
    uint32_t entry = slots_[slot];
    while (entry != 0 && ids_[entry - 1] != id) {
      slot = (slot + 1) & mask_;
      entry = slots_[slot];
    }
    if (entry == 0) [[unlikely]]
      entry = Insert(slot, id);
    positions[i] = entry - 1;
  }
}

uint32_t UniqueIds::Insert(size_t slot, uint64_t id) {
  ids_.push_back(id);
  const auto entry = static_cast<uint32_t>(ids_.size());
  slots_[slot] = entry;
  if (2 * ids_.size() > slots_.size()) {
    ClearSlots(2 * slots_.size());
    for (size_t i = 0; i < ids_.size(); ++i) {
      size_t at = SlotOf(ids_[i]);
      while (slots_[at] != 0) at = (at + 1) & mask_;
      slots_[at] = static_cast<uint32_t>(i + 1);
    }
  }
  return entry;
}

}  // namespace flotilla
