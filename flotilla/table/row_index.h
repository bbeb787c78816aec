// The index of a sparse table: maps a mixed id (Mix64) to candidate row numbers. Open addressing
// over cache lines of 8 slots, 8 bytes per slot, at most 7/8 full.
//
// A slot holds a 32-bit tag of the mixed id and a row number; the caller compares the id stored in
// the row itself. The upper bits of a tag select its home line, so the index grows without reading
// rows. The index is divided into parts by the uppermost bits of the mixed id; each part grows
// independently. Tags are the lowest bits: the uppermost bits determine the virtual shard, and rows
// that arrive shard by shard (a checkpoint), or from some shards only (a server), must not cluster
// in few lines.
//
// Thread safety: Prefetch, Probe, Find, Reserve and Insert may run concurrently (the caller ensures
// that an id is inserted only once); Grow requires exclusive access. A thread that finds a row sees
// everything that was written to it before its Insert.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "flotilla/base/mapped_memory.h"
#include "flotilla/base/status.h"

namespace flotilla {

// Marker for "no row".
inline constexpr uint32_t kNoRow = ~uint32_t{0};

class RowIndex {
 public:
  // Few parts, so that in large tables they span huge pages; but more than one, so that growing
  // does not block the table for long.
  static constexpr int kPartBits = 4;
  static constexpr int kParts = 1 << kPartBits;

  static StatusOr<std::unique_ptr<RowIndex>> Make(bool huge_pages);

  void Prefetch(uint64_t mixed) const {
    __builtin_prefetch(HomeOf(parts_[PartOf(mixed)], TagOf(mixed)));
  }

  // Returns a row with the tag of the id, or kNoRow: nearly always the row of the id if it has one.
  // Branch-free over the slots of a line, since such branches are unpredictable.
  uint32_t Probe(uint64_t mixed) const {
    const Part& part = parts_[PartOf(mixed)];
    const uint64_t tag = uint64_t{TagOf(mixed)} << 32;
    const Slot* line = HomeOf(part, TagOf(mixed));
    for (;;) {
      // Equal tags leave the row number, below 2^32; empty slots and other tags leave more.
      uint64_t best = kNoRow;
#pragma GCC unroll 8
      for (int i = 0; i < kLineSlots; ++i) {
        best = std::min(best, (line[i].load(std::memory_order_acquire) ^ tag) - 1);
      }
      // Slots of a line are filled in order: if the last is empty, nothing overflowed to the next
      // line.
      if (best != kNoRow || line[kLineSlots - 1].load(std::memory_order_relaxed) == 0) [[likely]] {
        return static_cast<uint32_t>(best);
      }
      line += kLineSlots;
      if (line == part.slots() + part.capacity()) line = part.slots();
    }
  }

  // The first row with the tag of the id for which accept(row) holds, or kNoRow.
  template <typename Accept>
  uint32_t Find(uint64_t mixed, Accept accept) const {
    const Part& part = parts_[PartOf(mixed)];
    const uint32_t tag = TagOf(mixed);
    for (size_t at = HomeOf(part, tag) - part.slots();; at = part.Next(at)) {
      const uint64_t slot = part.slots()[at].load(std::memory_order_acquire);
      if (slot == 0) return kNoRow;
      const auto row = static_cast<uint32_t>(slot) - 1;
      if (static_cast<uint32_t>(slot >> 32) == tag && accept(row)) return row;
    }
  }

  // Reserves a slot for one Insert of the id; false if its part must Grow first.
  bool Reserve(uint64_t mixed);

  // REQUIRES: Reserve(mixed) returned true; row != kNoRow.
  void Insert(uint64_t mixed, uint32_t row);

  // Doubles the part of the id, if it is still full. Error when no memory can be mapped; the index
  // is unchanged in that case.
  Status Grow(uint64_t mixed);

  size_t memory_bytes() const;

 private:
  // (tag << 32) | (row + 1); 0 is empty.
  using Slot = std::atomic<uint64_t>;
  static constexpr int kLineSlots = 8;
  static constexpr int kFirstBits = 6;  // lines of a new part: one page

  struct Part {
    MappedMemory memory;
    int shift = 32 - kFirstBits;  // tag >> shift is the home line
    std::atomic<size_t> count = 0;

    Slot* slots() const { return reinterpret_cast<Slot*>(memory.data()); }
    size_t capacity() const { return size_t{kLineSlots} << (32 - shift); }
    size_t max_rows() const { return capacity() - capacity() / 8; }
    size_t Next(size_t at) const { return (at + 1) & (capacity() - 1); }
  };

  explicit RowIndex(bool huge_pages) : huge_pages_(huge_pages) {}

  static size_t PartOf(uint64_t mixed) { return mixed >> (64 - kPartBits); }
  static uint32_t TagOf(uint64_t mixed) { return static_cast<uint32_t>(mixed); }
  static Slot* HomeOf(const Part& part, uint32_t tag) {
    return part.slots() + (size_t{tag >> part.shift} * kLineSlots);
  }

  bool huge_pages_;
  std::array<Part, kParts> parts_;
};

}  // namespace flotilla
