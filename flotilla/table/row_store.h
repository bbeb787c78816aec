// Memory of the rows of one sparse table: blocks of equal size, addressed by row number. It does
// not know which id has which row; SparseTable does.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "flotilla/base/aligned_vector.h"
#include "flotilla/base/mapped_memory.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"
#include "flotilla/table/table.h"

namespace flotilla {

// Number of pushes of a row (saturates at the largest number) and the global step of the last push.
struct RowMeta {
  uint32_t pushes = 0;
  uint32_t last_step = 0;

  bool operator==(const RowMeta&) const = default;
};

// The parts of a row's block:
//   [id + 1: 8 bytes][weights: dim floats][state: states * dim floats][RowMeta, if kept]
// rounded up to 8 bytes. Ten weights with Adam's state take exactly two cache lines. Long rows, of
// 64 numbers or more, are rounded up to whole cache lines and their weights begin on one: vector
// loads that straddle two lines cost twice.
struct RowLayout {
  int64_t dim = 1;
  int states = 0;
  bool keep_meta = false;

  static constexpr size_t kWeightsOffset = sizeof(uint64_t);
  // Weights and state.
  int64_t floats() const { return dim * (1 + states); }
  size_t meta_offset() const { return kWeightsOffset + floats() * sizeof(float); }
  size_t stride() const {
    const size_t align = long_rows() ? kCacheLineBytes : 8;
    return (meta_offset() + (keep_meta ? sizeof(RowMeta) : 0) + align - 1) / align * align;
  }
  // Offset of the first block in memory that begins on a cache line.
  size_t first_offset() const { return long_rows() ? kCacheLineBytes - kWeightsOffset : 0; }

 private:
  static constexpr int64_t kLongRow = 64;
  bool long_rows() const { return floats() >= kLongRow; }
};

inline float* WeightsOf(std::byte* block) {
  return reinterpret_cast<float*>(block + RowLayout::kWeightsOffset);
}
inline std::byte* BlockOf(float* weights) {
  return reinterpret_cast<std::byte*>(weights) - RowLayout::kWeightsOffset;
}
// id + 1 of a block, 0 if no row was created. The largest id also wraps to 0: only tables with
// bounded ids, where it cannot occur, use this field to test existence.
inline std::atomic_ref<uint64_t> IdFieldOf(std::byte* block) {
  return std::atomic_ref<uint64_t>(*reinterpret_cast<uint64_t*>(block));
}

// Rows are stored in chunks of 2^18 blocks, so that a chunk consists of whole huge pages for any
// stride and only the last chunk is partly used. The chunks of a store with a fixed number of rows
// are contiguous, so that its rows are one array. Rows never move and are never freed.
//
// Thread safety: all methods may be called at any time from any thread.
class RowStore {
 public:
  static constexpr int kChunkShift = 18;
  static constexpr uint32_t kChunkRows = uint32_t{1} << kChunkShift;
  // Maximum number of rows of a store: row numbers are below it, so that it can mean "no row".
  static constexpr uint32_t kMaxRows = ~uint32_t{0};

  // fixed_rows > 0: that many rows exist from the start, all zeros, and Take is not used. 0: the
  // store starts empty and grows by Take. Error when the address space is exhausted.
  // REQUIRES: 0 <= fixed_rows <= kMaxRows.
  static StatusOr<std::unique_ptr<RowStore>> Make(const RowLayout& layout, int64_t fixed_rows,
                                                  const TableOptions& options);

  const RowLayout& layout() const { return layout_; }

  // The block of a row. REQUIRES: row < limit().
  std::byte* block(uint32_t row) const {
    std::byte* chunk = chunks_[row >> kChunkShift].load(std::memory_order_acquire);
    return chunk + static_cast<size_t>(row & (kChunkRows - 1)) * stride_;
  }

  // Allocates `count` consecutive new rows, all zeros, and returns the number of the first; error
  // when no row number or no address space is left.
  StatusOr<uint32_t> Take(uint32_t count);

  // Rows with numbers below it exist.
  uint32_t limit() const { return limit_.load(std::memory_order_acquire); }

  // Memory of the rows below limit(), in whole pages, and of the directory of chunks.
  size_t memory_bytes() const;

 private:
  RowStore(const RowLayout& layout, size_t directory, const TableOptions& options);

  // Maps `rows` blocks after the existing chunks.
  Status AddMemory(int64_t rows) FL_REQUIRES(mutex_);

  const RowLayout layout_;
  const size_t stride_;
  const TableOptions options_;
  // Entries are written once, before limit_ rises above the first row of the chunk.
  const size_t directory_;
  const std::unique_ptr<std::atomic<std::byte*>[]> chunks_;
  std::atomic<uint32_t> limit_ = 0;

  Mutex mutex_;
  size_t chunk_count_ FL_GUARDED_BY(mutex_) = 0;
  std::vector<MappedMemory> memory_ FL_GUARDED_BY(mutex_);
};

}  // namespace flotilla
