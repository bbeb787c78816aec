// What GEO trainers have yet to see: for each trainer the rows and dense blocks that others have
// changed since it last asked. The service marks what a delta push changed and takes from here what
// the answer to METHOD_PULL_DIRTY must contain. It knows which values changed, not the values.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"
#include "flotilla/server/dirty_set.h"
#include "flotilla/tensor/shard.h"

namespace flotilla {

// Thread-safe.
class DirtyRows {
 public:
  // The changes that one answer contains.
  struct Changes {
    std::vector<std::vector<uint64_t>> ids;  // per table
    std::vector<DenseRange> dense;           // ranges of the server's slice, ascending
    bool more = false;                       // max_rows has left some for the next request
  };

  // For a slice of this many floats. REQUIRES: trainers >= 1.
  DirtyRows(int trainers, int tables, int64_t dense_floats);

  // Records that `trainer` has changed rows of a table: all others have yet to see them.
  // locations[i] is where the table stores the row of ids[i]. Mark after the change: a trainer that
  // takes the mark must find the change.
  void Mark(int trainer, int table, std::span<const uint32_t> locations,
            std::span<const uint64_t> ids);
  // The same for an addition to the dense slice; blocks to which only zeros were added are
  // unchanged. REQUIRES: delta is as long as the slice, or empty.
  void MarkDense(int trainer, std::span<const float> delta);

  // A request of the trainer has arrived; its requests have increasing sequences. A new one means
  // that the answer to the one before has arrived: what that contained counts as seen.
  void Begin(int trainer, uint64_t sequence);
  // The content of the answer to this request, with at most max_rows of each table. The same again
  // if it is called again, so that an answer that got lost can be repeated. FailedPrecondition if a
  // newer request has begun: the changes belong to its answer.
  StatusOr<Changes> Take(int trainer, uint64_t sequence, size_t max_rows);

 private:
  // The newest request of a trainer.
  struct Request {
    Mutex mutex;
    uint64_t sequence FL_GUARDED_BY(mutex) = 0;
  };

  const int64_t dense_floats_;
  std::vector<std::unique_ptr<DirtySet>> rows_;  // per table
  DirtySet blocks_;                              // of the slice
  std::vector<Request> requests_;                // per trainer
};

}  // namespace flotilla
