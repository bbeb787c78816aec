// The rows that the workers of this trainer have changed since their last exchange, by table, and
// how often: the input of a GEO exchange.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/tensor/parameter_spec.h"
#include "flotilla/tensor/unique_ids.h"

namespace flotilla {

// Rows of a table, and how often each was added; 255 means 255 or more.
struct TouchedIds {
  std::vector<uint64_t> ids;
  std::vector<uint8_t> counts;
};

// Add may be called by several workers concurrently with one thread that calls Take.
class TouchedRows {
 public:
  explicit TouchedRows(std::span<const TableSpec> tables);

  // Records the ids of rows that a worker has changed. Workers do not wait for each other.
  // REQUIRES: ids within the bounds of the table.
  void Add(int worker, int table, std::span<const uint64_t> ids);
  void Add(int worker, int table, std::span<const uint32_t> ids);

  // The distinct ids of a table that were added at least min_count times since they were last
  // taken. The others are kept, with their counts, for a later call. Counts of tables with bounded
  // ids may miss some concurrent additions, but never all of them.
  TouchedIds Take(int table, uint32_t min_count);

 private:
  // Workers share a list only if there are more workers than this.
  static constexpr int kLists = 64;
  // Tables with at most this many rows have a counter per row, which is cheaper than lists.
  static constexpr int64_t kMaxCounters = int64_t{1} << 24;

  struct alignas(64) List {
    Mutex mutex;
    std::vector<uint64_t> ids FL_GUARDED_BY(mutex);
  };
  struct Table {
    int64_t rows = 0;  // counters; 0: lists instead
    std::unique_ptr<std::atomic<uint8_t>[]> counters;
    std::array<List, kLists> lists;
    // Used by the thread that takes.
    std::vector<uint64_t> kept;         // ids not taken yet
    std::vector<uint32_t> kept_counts;  // how often they were added
    UniqueIds unique;
    std::vector<std::vector<uint64_t>> taken;  // what the lists had, by list
    std::vector<uint32_t> positions;
    std::vector<uint32_t> counts;
  };

  template <typename Id>
  static void Count(Table& table, std::span<const Id> ids);
  template <typename Id>
  static void Append(List& list, std::span<const Id> ids);
  static TouchedIds TakeCounted(Table& table, uint32_t min_count);
  static TouchedIds TakeListed(Table& table, uint32_t min_count);
  static size_t SwapLists(Table& table);
  static void CountOccurrences(Table& table);

  std::vector<Table> tables_;
};

}  // namespace flotilla
