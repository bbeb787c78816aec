// The parameters of one server: the rows of its virtual shards of every table, and its range of the
// dense block. Made from the same ModelSpec as every trainer's, so the initial values agree.
//
// Unlike in Hogwild training in one process, no update may be lost here: pushes of the same row
// exclude each other. Rows are locked in stripes of virtual shards, dense parameters in pieces, so
// pushes run concurrently; pulls take no lock and may see a row half updated.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"
#include "flotilla/table/dense_table.h"
#include "flotilla/table/sparse_table.h"
#include "flotilla/tensor/dense_layout.h"
#include "flotilla/tensor/model_spec.h"
#include "flotilla/tensor/shard.h"
#include "flotilla/tensor/sparse_rows.h"
#include "flotilla/tensor/update_policy.h"

namespace flotilla {

// The step of an update: the global step after it, from 1, and the schedule's rate for it.
struct UpdateMoment {
  int64_t step = 1;
  double rate = 0;
};

// Thread-safe, as described above.
class ServerTables {
 public:
  // An error says what is wrong in the spec.
  static StatusOr<std::unique_ptr<ServerTables>> Make(const ModelSpec& spec, int server,
                                                      int servers, UpdatePolicy policy,
                                                      const TableOptions& options);

  const ModelSpec& spec() const { return spec_; }
  int tables() const { return static_cast<int>(tables_.size()); }
  SparseTable& table(int index) { return *tables_[index]; }
  // This server's range of the whole dense block, and its values.
  const DenseRange& range() const { return range_; }
  std::span<const float> dense() const { return dense_->data(); }
  // The range as a separate dense table: its parameter i is slices()[i] of the model.
  DenseTable& dense_table() { return *dense_; }
  // Must be held to change the dense slice through dense_table().
  class DenseChange {
   public:
    explicit DenseChange(ServerTables* tables) : version_(tables->dense_version_) { ++version_; }
    ~DenseChange() { ++version_; }
    DenseChange(const DenseChange&) = delete;
    DenseChange& operator=(const DenseChange&) = delete;

   private:
    std::atomic<uint64_t>& version_;
  };
  const std::vector<DenseSlice>& slices() const { return slices_; }
  // The virtual shards whose rows this server has.
  const ShardRange& shards() const { return shards_; }
  // The parts [begin, end) of the slice that are statistics (moving averages) instead of parameters
  // with gradients.
  std::vector<std::pair<int64_t, int64_t>> StatisticRanges() const;

  // Ok, or an error if a table does not exist, or an id belongs to another server or is out of the
  // bounds of the table.
  Status CheckIds(uint32_t table, std::span<const uint64_t> ids) const;

  // Fills values for rows->ids. REQUIRES: distinct ids that passed CheckIds.
  Status Pull(uint32_t table, Missing missing, SparseRows* rows);

  // One update with gradients of some rows, or of the dense slice. Rows in the order of their
  // virtual shards (tensor/shard_order.h) are locked stripe by stripe; rows in any other order lock
  // the whole table. REQUIRES: ids as for Pull, gradients of the table's dim; a gradient as long as
  // the slice.
  Status Push(uint32_t table, const RowsView& gradients, const UpdateMoment& moment);
  Status PushDense(std::span<const float> gradient, const UpdateMoment& moment);

  // w += delta; locations[i] becomes the location of row i in the table. Locks like Push, and
  // REQUIRES the same.
  Status AddRows(uint32_t table, const RowsView& delta, std::vector<uint32_t>* locations);
  void AddDense(std::span<const float> delta);

  // The seed of initial values. Setting it REQUIRES: no other thread uses the tables.
  uint64_t seed() const { return seed_; }
  void SetSeed(uint64_t seed);

  // Copies part of the dense slice, from `begin` on. During an update some elements are from before
  // it and some from after it.
  void CopyDense(int64_t begin, std::span<float> out) const;
  // Increases when a change of the dense slice begins and when it ends: copies that were begun at
  // the same version are equivalent.
  uint64_t dense_version() const { return dense_version_.load(std::memory_order_acquire); }
  // Sets part of the dense slice and resets the optimizer's state of its parameter. An error if it
  // is not within the part of one parameter. REQUIRES: no update meanwhile.
  Status WriteDense(int64_t begin, std::span<const float> values);

 private:
  static constexpr int kStripes = 16;

  using Stripes = std::array<Mutex, kStripes>;

  ServerTables(const ModelSpec& spec, int server, int servers);

  Status MakeTables(const OptimizerSpec& optimizer, const TableOptions& options);
  Status MakeDense(const OptimizerSpec& optimizer);
  void HogwildCopyDense(int64_t begin, std::span<float> out) const;
  // Calls apply(begin, end) for ranges that together are all ids, each under the mutexes of its
  // stripes.
  template <typename Apply>
  Status ForEachStripe(uint32_t table, std::span<const uint64_t> ids, Apply apply);

  // Constant after construction.
  const ModelSpec spec_;
  const int server_;
  const int servers_;
  const ShardRange shards_;
  // The shards of stripe s are [stripe_begins_[s], stripe_begins_[s + 1]).
  std::array<int, kStripes + 1> stripe_begins_;
  const DenseRange range_;
  std::vector<DenseSlice> slices_;
  std::vector<std::unique_ptr<SparseTable>> tables_;
  std::unique_ptr<DenseTable> dense_;

  std::atomic<uint64_t> seed_;
  std::vector<std::unique_ptr<Stripes>> stripes_;  // per table
  std::atomic<uint64_t> dense_version_ = 0;
  mutable SharedMutex dense_mutex_;  // of AddDense and WriteDense against readers
};

}  // namespace flotilla
