#include "flotilla/table/row_index.h"

#include <memory>
#include <utility>

namespace flotilla {

StatusOr<std::unique_ptr<RowIndex>> RowIndex::Make(bool huge_pages) {
  std::unique_ptr<RowIndex> index(new RowIndex(huge_pages));
  for (Part& part : index->parts_) {
    FL_ASSIGN_OR_RETURN(part.memory,
                        MappedMemory::Make(part.capacity() * sizeof(Slot), huge_pages));
  }
  return index;
}

bool RowIndex::Reserve(uint64_t mixed) {
  Part& part = parts_[PartOf(mixed)];
  if (part.count.fetch_add(1, std::memory_order_relaxed) < part.max_rows()) return true;
  part.count.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

void RowIndex::Insert(uint64_t mixed, uint32_t row) {
  Part& part = parts_[PartOf(mixed)];
  const uint64_t slot = uint64_t{TagOf(mixed)} << 32 | (row + 1);
  size_t at = HomeOf(part, TagOf(mixed)) - part.slots();
  for (uint64_t found = 0;; at = part.Next(at), found = 0) {
    // Release: readers that see the slot see the complete row that it refers to.
    if (part.slots()[at].load(std::memory_order_relaxed) == 0 &&
        part.slots()[at].compare_exchange_strong(found, slot, std::memory_order_release,
                                                 std::memory_order_relaxed)) {
      return;
    }
  }
}

Status RowIndex::Grow(uint64_t mixed) {
  Part& part = parts_[PartOf(mixed)];
  if (part.count.load(std::memory_order_relaxed) < part.max_rows()) return absl::OkStatus();
  FL_CHECK(part.shift > 0);
  FL_ASSIGN_OR_RETURN(MappedMemory memory,
                      MappedMemory::Make(2 * part.capacity() * sizeof(Slot), huge_pages_));
  const size_t old_capacity = part.capacity();
  const MappedMemory old = std::exchange(part.memory, std::move(memory));
  --part.shift;
  const Slot* slots = reinterpret_cast<const Slot*>(old.data());
  for (size_t i = 0; i < old_capacity; ++i) {
    const uint64_t slot = slots[i].load(std::memory_order_relaxed);
    if (slot == 0) continue;
    // Access is exclusive here, so no compare-and-swap, which would wait for each cache line in
    // turn.
    size_t at = HomeOf(part, static_cast<uint32_t>(slot >> 32)) - part.slots();
    while (part.slots()[at].load(std::memory_order_relaxed) != 0) at = part.Next(at);
    part.slots()[at].store(slot, std::memory_order_relaxed);
  }
  return absl::OkStatus();
}

size_t RowIndex::memory_bytes() const {
  size_t bytes = sizeof(RowIndex);
  for (const Part& part : parts_) bytes += part.memory.size();
  return bytes;
}

}  // namespace flotilla
