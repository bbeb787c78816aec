#include "flotilla/tensor/unique_ids.h"

#include <algorithm>
#include <bit>

#include "flotilla/base/hash.h"
#include "flotilla/base/status.h"

namespace flotilla {

void UniqueIds::Reset(size_t occurrences) {
  ids_.clear();
  ids_.reserve(occurrences);
  // At most two thirds full even if no id repeats.
  const size_t wanted = std::bit_ceil(std::max<size_t>(16, occurrences + occurrences / 2));
  slots_.assign(wanted, 0);
  mask_ = wanted - 1;
}

void UniqueIds::Add(std::span<const uint64_t> occurrences, std::span<uint32_t> positions) {
  FL_CHECK(positions.size() == occurrences.size());
  for (size_t i = 0; i < occurrences.size(); ++i) {
    const uint64_t id = occurrences[i];
    uint64_t slot = Mix64(id) & mask_;
    while (slots_[slot] != 0 && ids_[slots_[slot] - 1] != id) slot = (slot + 1) & mask_;
    if (slots_[slot] == 0) {
      ids_.push_back(id);
      slots_[slot] = static_cast<uint32_t>(ids_.size());
    }
    positions[i] = slots_[slot] - 1;
  }
}

}  // namespace flotilla
