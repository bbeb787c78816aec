// The rows of one virtual shard in the order of creation, as runs of consecutive row numbers that
// the shard allocated from the store.
//
// Not thread-safe: SparseTable guards it with the shard's mutex.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace flotilla {

class ShardRows {
 public:
  // max_run: number of rows that a large shard allocates at once. Small shards allocate fewer, so
  // that a small table does not pay for 512 long runs.
  explicit ShardRows(uint32_t max_run = 64) : max_run_(max_run) {}

  uint32_t size() const { return size_; }
  // Whether the next row needs a new run, and the length of that run.
  bool full() const { return size_ == reserved_; }
  uint32_t next_run() const { return RunAfter(reserved_); }

  // Adds a run of next_run() rows from `first` on. REQUIRES: full().
  void AddRun(uint32_t first) {
    reserved_ += next_run();
    runs_.push_back(first);
  }

  // The number of the next row; Commit makes it part of the shard. REQUIRES: !full().
  uint32_t next() const { return runs_.back() + (RunBefore(reserved_) - (reserved_ - size_)); }
  void Commit() { ++size_; }

  // Calls visit(row) for the first `count` rows. REQUIRES: count <= size().
  template <typename Visit>
  void ForEach(uint32_t count, Visit visit) const {
    uint32_t before = 0;
    for (size_t i = 0; before < count; ++i) {
      const uint32_t run = RunAfter(before);
      for (uint32_t k = 0; k < std::min(run, count - before); ++k) visit(runs_[i] + k);
      before += run;
    }
  }

  size_t memory_bytes() const { return runs_.capacity() * sizeof(uint32_t); }

 private:
  // The run that follows `rows` reserved rows: 4, 4, 8, 16, 32, 64, 64, ..
  uint32_t RunAfter(uint32_t rows) const { return std::min(max_run_, std::max(4u, rows)); }
  // The run that ends at `rows` reserved rows.
  uint32_t RunBefore(uint32_t rows) const { return std::min(max_run_, std::max(4u, rows / 2)); }

  uint32_t max_run_;
  uint32_t size_ = 0;
  uint32_t reserved_ = 0;
  std::vector<uint32_t> runs_;
};

}  // namespace flotilla
