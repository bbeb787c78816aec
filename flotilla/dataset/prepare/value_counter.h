// Counts how often values occur, by their 64-bit hashes: exactly, in memory that grows with the
// number of distinct values; or in bounded memory, where counts that do not fit become estimates
// that are never too low (a count-min sketch).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "flotilla/base/mutex.h"

namespace flotilla {

// Two values with the same hash count as one; among a billion distinct values such a pair exists
// with probability 1/40. Results do not depend on the order of insertion or on threads.
class ValueCounter {
 public:
  // A batch of values that a worker adds at once. Not thread-safe; each worker has its own.
  class Batch {
   public:
    void Add(uint64_t hash) { hashes_[ShardOf(hash)].push_back(hash); }

   private:
    friend class ValueCounter;
    std::array<std::vector<uint64_t>, 64> hashes_;
  };

  // `memory_bytes` 0: exact, regardless of the memory needed (about 30 bytes per distinct value).
  // Otherwise about that many bytes are used; if exact counts need more, part of the values is
  // estimated.
  explicit ValueCounter(size_t memory_bytes = 0);

  // Counts the batch and empties it. Thread-safe.
  void Add(Batch* batch);

  // How often the value was added: never too low, and too high only when not exact().
  // REQUIRES: no Add is in progress, here and below; then the counts need no lock, which the
  // analysis cannot see.
  uint64_t CountOf(uint64_t hash) const FL_NO_THREAD_SAFETY_ANALYSIS;

  bool exact() const FL_NO_THREAD_SAFETY_ANALYSIS;
  // Upper bound of the overestimation for 98 % of the values; 0 when exact.
  double likely_excess() const FL_NO_THREAD_SAFETY_ANALYSIS;
  // Number of distinct values; valid only when exact().
  int64_t distinct() const FL_NO_THREAD_SAFETY_ANALYSIS;
  // Number of values that were added.
  int64_t added() const FL_NO_THREAD_SAFETY_ANALYSIS;
  // The values that were added at least `least` times, with their counts: the most frequent first,
  // equally frequent ones by hash. REQUIRES: exact().
  std::vector<std::pair<uint64_t, uint32_t>> AtLeast(uint32_t least) const
      FL_NO_THREAD_SAFETY_ANALYSIS;

 private:
  static constexpr size_t kDepth = 4;  // rows of a sketch

  struct Shard {
    Mutex mutex;
    absl::flat_hash_map<uint64_t, uint32_t> counts FL_GUARDED_BY(mutex);
    // (kDepth, width); empty while `counts` are exact.
    std::vector<uint32_t> sketch FL_GUARDED_BY(mutex);
    uint64_t added FL_GUARDED_BY(mutex) = 0;
  };

  static size_t ShardOf(uint64_t hash) { return hash >> 58; }
  size_t Slot(size_t row, uint64_t hash) const;
  void AddTo(Shard* shard, uint64_t hash, uint32_t count) const FL_REQUIRES(shard->mutex);
  // Turns exact counts into estimates.
  void Estimate(Shard* shard) const FL_REQUIRES(shard->mutex);

  // Constant after construction.
  size_t max_distinct_ = 0;  // maximum number of exact counts per shard
  size_t width_ = 0;         // width of a sketch

  std::array<Shard, 64> shards_;
};

}  // namespace flotilla
