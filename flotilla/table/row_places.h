// The index of a sparse table with bounded ids: a row number for every id, 4 bytes each. If only
// some of the ids are used, it takes far less memory than a row for each of them.
//
// Thread safety: all methods may be called concurrently (the caller ensures that an id is inserted
// only once). A thread that finds a row sees everything that was written to it before its Insert.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "flotilla/base/mapped_memory.h"
#include "flotilla/base/status.h"
#include "flotilla/table/row_index.h"

namespace flotilla {

class RowPlaces {
 public:
  // Error when no memory can be mapped. REQUIRES: ids > 0.
  static StatusOr<std::unique_ptr<RowPlaces>> Make(int64_t ids, bool huge_pages) {
    FL_ASSIGN_OR_RETURN(
        MappedMemory memory,
        MappedMemory::Make(static_cast<size_t>(ids) * sizeof(uint32_t), huge_pages));
    return std::unique_ptr<RowPlaces>(new RowPlaces(std::move(memory)));
  }

  // REQUIRES, for all methods below: id < ids.
  void Prefetch(uint64_t id) const { __builtin_prefetch(&places()[id]); }
  // The row of an id, or kNoRow.
  uint32_t Find(uint64_t id) const { return places()[id].load(std::memory_order_acquire) - 1; }
  void Insert(uint64_t id, uint32_t row) { places()[id].store(row + 1, std::memory_order_release); }

  size_t memory_bytes() const { return sizeof(RowPlaces) + memory_.size(); }

 private:
  explicit RowPlaces(MappedMemory memory) : memory_(std::move(memory)) {}

  // row + 1; 0 is none.
  std::atomic<uint32_t>* places() const {
    return reinterpret_cast<std::atomic<uint32_t>*>(memory_.data());
  }

  const MappedMemory memory_;
};

}  // namespace flotilla
