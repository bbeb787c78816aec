// A sparse table: rows of weights and optimizer state in memory, keyed by 64-bit id.
//
// A row is one block (row_store.h). Rows never move and are never removed; memory is allocated for
// rows as they are created, in about that order, so that frequently used rows are close together.
// They are found through an open-addressing index or, if the spec bounds the ids, through a row
// number per id; lookups of a batch are prefetched in stages, so that a table far larger than the
// caches costs little more than a small one.
//
// Thread safety: all methods may be called from any number of threads at once, unless documented
// otherwise. Two concurrent pushes of one row, or a pull concurrent with a push, may mix element by
// element (Hogwild, a documented race in the functions named Hogwild*). Creation is exact: a row is
// created once, and a thread that finds it sees its complete initial value.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <shared_mutex>
#include <span>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"
#include "flotilla/optim/update_rule.h"
#include "flotilla/table/batch_gate.h"
#include "flotilla/table/initializer.h"
#include "flotilla/table/row_cut.h"
#include "flotilla/table/row_index.h"
#include "flotilla/table/row_places.h"
#include "flotilla/table/row_store.h"
#include "flotilla/table/shard_rows.h"
#include "flotilla/table/table.h"
#include "flotilla/tensor/parameter_spec.h"
#include "flotilla/tensor/row_block.h"
#include "flotilla/tensor/shard.h"
#include "flotilla/tensor/sparse_rows.h"

namespace flotilla {

// One row, as enumeration and saving see it.
struct RowView {
  uint64_t id = 0;
  std::span<const float> weights;  // dim
  std::span<const float> state;    // states * dim
  RowMeta meta;                    // zeros unless the table keeps it
};

// Rows as a checkpoint holds them, column by column.
struct RowColumns {
  std::span<const uint64_t> ids;   // distinct
  std::span<const float> weights;  // (ids, dim)
  std::span<const float> state;    // (ids, states, dim), or empty: initial state
  std::span<const RowMeta> meta;   // (ids), or empty: zeros
};

enum class RowOrder { kStorage, kAscendingId };

class SparseTable;

// Rows opened for reading and writing in place (fused steps). While it is open the table cannot
// start a cut or grow, so keep it open only for one block of work. The thread that holds it must
// not call the table again before Close; reuse the object to reuse its memory.
class RowsInPlace {
 public:
  // Weights of the ids that were opened, in their order; the rule's state follows each.
  std::span<float* const> rows() const { return rows_; }
  // Their locations in the table, as in SparseRows::locations.
  std::span<const uint32_t> locations() const { return locations_; }
  void Close() { hold_ = {}; }

 private:
  friend class SparseTable;
  std::shared_lock<BatchGate> hold_;
  std::vector<float*> rows_;
  std::vector<uint32_t> locations_;
};

// All rows of a table, opened under the same rules as RowsInPlace: for steps that access rows too
// often to list them first.
class AllRowsInPlace {
 public:
  const RowBlock& rows() const { return rows_; }
  void Close() { hold_ = {}; }

 private:
  friend class SparseTable;
  std::shared_lock<BatchGate> hold_;
  RowBlock rows_;
};

class SparseTable {
 public:
  // A null rule creates a table that pushes do not change (not trainable). An error contains the
  // table and the problem of its spec.
  static StatusOr<std::unique_ptr<SparseTable>> Make(const TableSpec& spec, uint64_t seed,
                                                     std::unique_ptr<const UpdateRule> rule,
                                                     const TableOptions& options);

  const TableSpec& spec() const { return spec_; }
  const RowLayout& layout() const { return store_->layout(); }
  // Number of existing rows.
  int64_t size() const { return size_.load(std::memory_order_relaxed); }

  // Fills rows->dim, values and locations for rows->ids. An id that is not below spec().rows (if
  // that bounds the ids) is an error that names it; nothing is created in that case.
  // REQUIRES: the ids are distinct.
  Status Pull(Missing missing, SparseRows* rows);

  // Applies the rule to the rows of gradients.ids; rows that do not exist are created first. Uses
  // gradients.locations when it has any. A cut never separates the rows of a push. On an error
  // (wrong dim or sizes, an id out of bounds) nothing was applied, except for a location that is
  // not the row of its id: then the rows before it were updated.
  // REQUIRES: the ids are distinct.
  Status Push(const RowsView& gradients, const UpdateContext& context);

  // Sets rows to the given weights and initial state and meta; creates those that do not exist.
  // Errors as Push.
  Status WriteRows(const SparseRows& rows);

  // Sets rows to the content of a checkpoint; creates those that do not exist. Errors as Push.
  // REQUIRES: spans that are not empty have the table's sizes.
  Status LoadRows(const RowColumns& rows);
  // Sets the seed of initial values from now on. REQUIRES: no other thread uses the table.
  void SetSeed(uint64_t seed);

  // The weights of a row, or null if there is none. They may change while being read when other
  // threads push.
  const float* Find(uint64_t id) const;

  // Opens the rows of `ids`, creating those that do not exist. REQUIRES: *out is closed.
  Status OpenRows(std::span<const uint64_t> ids, RowsInPlace* out);

  // Opens all rows of a table created with TableOptions::in_order, creating those that do not
  // exist; an error for any other table. The rows do not move during the table's lifetime. Cheap,
  // except for the first call and while a cut is active: then every row is copied aside. REQUIRES:
  // *out is closed.
  Status OpenAllRows(AllRowsInPlace* out);

  // Calls visit for the existing rows of a virtual shard; the views stay valid as long as the
  // table. Rows that are pushed concurrently may be seen partly updated (a cut is exact).
  void ForEachRow(int shard, RowOrder order,
                  const std::function<void(const RowView&)>& visit) const;

  // Starts a snapshot: until EndCut, ReadCut delivers rows as they are now, while pulls and pushes
  // continue. Each row is copied aside before its first later change, so a cut costs memory only
  // for rows that change before they are read. Error if a cut is active.
  Status BeginCut();
  // Calls visit for the rows of a virtual shard as they were at the cut, in views that are valid
  // during the call. Shards may be read in parallel, each once; a second read, or a read without a
  // cut, is an error. REQUIRES: EndCut is not called concurrently.
  Status ReadCut(int shard, RowOrder order, const std::function<void(const RowView&)>& visit);
  void EndCut();
  // Number of rows of a virtual shard that belong to the cut. REQUIRES: a cut is active.
  int64_t CutRows(int shard) const;

  // Total memory of the table: rows in whole pages, indexes, bookkeeping, an active cut.
  size_t memory_bytes() const;
  // memory_bytes() / size(), 0 for an empty table.
  double memory_per_row() const;

 private:
  // Number of ids that pass through the stages of a lookup together, and number of groups between
  // one stage and the next (measured: larger bursts of prefetches wait for each other).
  static constexpr size_t kGroup = 8;
  static constexpr size_t kLag = 2;
  static constexpr size_t kRing = 2 * kLag + 1;
  // Number of rows passed to the rule at once; the rows of the next call are prefetched meanwhile.
  static constexpr size_t kPushGroup = 64;

  struct Group {
    size_t first = 0;
    size_t count = 0;
    std::array<uint64_t, kGroup> mixed;     // Mix64(id)
    std::array<uint32_t, kGroup> rows;      // kNoRow: not found
    std::array<std::byte*, kGroup> blocks;  // blocks of the rows that were found
  };
  using Hold = std::shared_lock<BatchGate>;

  struct alignas(kCacheLineBytes) Shard {
    explicit Shard(uint32_t max_run) : rows(max_run) {}
    mutable Mutex mutex;
    ShardRows rows FL_GUARDED_BY(mutex);
  };

  // Storage of the rows and how they are found. With neither index nor places, row numbers are ids.
  struct Storage {
    std::unique_ptr<RowStore> store;
    std::unique_ptr<RowIndex> index;
    std::unique_ptr<RowPlaces> places;
  };

  SparseTable(const TableSpec& spec, uint64_t seed, std::unique_ptr<const UpdateRule> rule,
              const Initializer& initializer, Storage storage);
  static StatusOr<Storage> MakeStorage(const TableSpec& spec, int states,
                                       const TableOptions& options);

  bool in_order() const { return index_ == nullptr && places_ == nullptr; }
  static int ShardOf(uint64_t mixed) { return static_cast<int>(mixed >> (64 - kVirtualShardBits)); }

  Status CheckIds(std::span<const uint64_t> ids) const;
  Status CheckRows(const RowsView& rows) const;

  // The stages of a lookup; Walk overlaps them over the groups of ids and calls visit(group).
  template <typename Visit>
  Status Walk(Hold& hold, std::span<const uint64_t> ids, Missing missing, Visit visit);
  void HashGroup(std::span<const uint64_t> ids, size_t first, Group* group) const;
  void ProbeGroup(std::span<const uint64_t> ids, Group* group) const;
  Status SettleGroup(Hold& hold, std::span<const uint64_t> ids, Missing missing, Group* group);

  uint32_t FindRow(uint64_t id, uint64_t mixed) const;
  // Finds or creates a row. May release and reacquire `hold` to grow an index.
  StatusOr<uint32_t> Create(Hold& hold, uint64_t id, uint64_t mixed);
  StatusOr<uint32_t> Insert(Shard& shard, uint64_t id, uint64_t mixed) FL_REQUIRES(shard.mutex);
  Status Grow(Hold& hold, uint64_t mixed);
  void InitRow(uint64_t id, std::byte* block) const;

  // Returns the given locations if they are usable, otherwise rows that were found or created, in
  // memory that the next call on this thread reuses.
  StatusOr<std::span<const uint32_t>> Locate(Hold& hold, std::span<const uint64_t> ids,
                                             std::span<const uint32_t> locations);
  void PrefetchBlocks(std::span<const uint32_t> rows) const;
  void KeepAside(std::span<const uint64_t> ids, std::span<const uint32_t> rows) const;
  void HogwildCopyOut(const Group& group, SparseRows* out) const;
  void HogwildApplyRows(const UpdateContext& context, const float* gradients,
                        std::span<float* const> rows) const;

  std::vector<uint32_t> RowsOfShard(int shard, RowOrder order, uint32_t count) const;
  RowView ViewOf(std::byte* block) const;

  const TableSpec spec_;
  RngKey key_;                                    // constant except for SetSeed
  const std::unique_ptr<const UpdateRule> rule_;  // may be null
  const Initializer initializer_;
  const std::unique_ptr<RowStore> store_;
  // Number of bytes to prefetch: of id and weights, and of the whole block. The hardware prefetcher
  // follows long rows by itself.
  const size_t pull_bytes_;
  const size_t push_bytes_;

  std::atomic<int64_t> size_ = 0;
  // Held shared by every batch of work. Held exclusively to grow index_ and to set cut_.
  mutable BatchGate gate_;
  const std::unique_ptr<RowIndex> index_;    // at most one of the two: see Storage
  const std::unique_ptr<RowPlaces> places_;  // at most one of the two
  // Rows of virtual shard s are created under its mutex.
  std::vector<std::unique_ptr<Shard>> shards_;
  std::unique_ptr<RowCut> cut_;
};

}  // namespace flotilla
