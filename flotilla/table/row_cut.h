// A copy-on-write snapshot ("cut") of a sparse table, kept while updates continue: a row is copied
// aside before its first change after the cut. SparseTable calls it; saving reads it shard by
// shard.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"
#include "flotilla/table/row_store.h"
#include "flotilla/tensor/shard.h"

namespace flotilla {

// Thread safety: Keep and Read may be called from any number of threads at once.
class RowCut {
 public:
  // Starts a cut of the rows that `store` has now; the first counts[s] rows of virtual shard s
  // belong to it. The store must outlive the cut.
  RowCut(const RowStore& store, std::vector<uint32_t> counts);

  // Number of rows of a shard that belong to the cut.
  uint32_t count(int shard) const { return counts_[shard]; }

  // Must be called before a row of virtual shard `shard` is changed. Rows created after the cut are
  // ignored.
  void Keep(int shard, uint32_t row);

  // Calls visit(block) for each of `rows`, which are the rows of the shard that belong to the cut,
  // with their content at the cut; the block is valid during the call. Afterwards the shard's
  // copies are dropped and its rows are no longer copied, so a second Read of the shard is an
  // error.
  Status Read(int shard, std::span<const uint32_t> rows,
              const std::function<void(std::byte* block)>& visit);

  // Current memory of the cut in bytes: copies and bookkeeping.
  size_t memory_bytes() const;

 private:
  struct Shard {
    std::atomic<bool> read = false;  // read or being read
    mutable Mutex mutex;
    absl::flat_hash_map<uint32_t, size_t> copies FL_GUARDED_BY(mutex);  // row -> offset in bytes
    std::vector<std::byte> bytes FL_GUARDED_BY(mutex);
    bool done FL_GUARDED_BY(mutex) = false;  // read completely: copies are no longer needed
  };

  bool Kept(uint32_t row) const {
    return kept_[row / 64].load(std::memory_order_acquire) >> (row % 64) & 1;
  }
  // Copies the blocks of rows as they were at the cut.
  void CopyOut(const Shard& shard, std::span<const uint32_t> rows, std::byte* out) const
      FL_REQUIRES(shard.mutex);

  const RowStore& store_;
  const size_t stride_;
  const uint32_t limit_;
  const std::vector<uint32_t> counts_;
  // One bit per row: the row changed since the cut and its copy is in its shard. Set under the
  // shard's mutex.
  const std::unique_ptr<std::atomic<uint64_t>[]> kept_;
  std::vector<Shard> shards_;
};

}  // namespace flotilla
