// Adds the gradients of several steps into one push: of the workers of a round (joined modes), of
// the chunks of a batch (deterministic mode), of the batches that wait in a queue (async).
//
// The result depends only on the gradients and the order in which they were added, never on timing.
// Not thread-safe. Reuse one object: it allocates only while it grows.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flotilla/base/worker_pool.h"
#include "flotilla/tensor/dense_layout.h"
#include "flotilla/tensor/gradients.h"
#include "flotilla/tensor/model_spec.h"
#include "flotilla/tensor/unique_ids.h"

namespace flotilla {

class GradientMerger {
 public:
  explicit GradientMerger(const ModelSpec& spec);

  // Discards everything that was added.
  void Start();

  // Adds scale * part. Rows of a table are merged by id, in order of first appearance; locations
  // survive if every part has them. Rows and loss are plain sums. Statistics (parameters with a
  // moving average) are not gradients: they become the mean over the parts, weighted by rows.
  // REQUIRES: part satisfies the invariants of Gradients for the model; its dense gradients were
  // not applied already.
  void Add(const Gradients& part, float scale = 1);

  // Like Start followed by Add of the parts in their order, but shared among the threads of a pool;
  // gives the same bits. REQUIRES: as Add; no Run of the pool is in progress.
  void Merge(std::span<const Gradients* const> parts, float scale, WorkerPool& pool);

  // The sum of everything added since Start; without any Add, zeros and no rows. The caller may
  // change it and exchange its buffers; the next call must be Start.
  Gradients& Result();

 private:
  // A range of the dense block with one rule of adding.
  struct Run {
    int64_t begin = 0;
    int64_t length = 0;
    bool statistic = false;
  };
  // One table's ids, in the order of result_.sparse[t].
  struct Table {
    UniqueIds unique;
    size_t announced = 0;  // occurrences that `unique` has room for
    size_t seen = 0;       // occurrences added to it
    std::vector<uint32_t> positions;
  };

  void CheckPart(const Gradients& part) const;
  // Adds elements [begin, end) of the dense block; `first`: overwrites instead.
  void AddDense(const Gradients& part, float scale, bool first, int64_t begin, int64_t end);
  void Count(const Gradients& part);
  void AddSparse(const SparseRows& part, float scale, Table* table, SparseRows* sum);
  void MakeRoom(size_t occurrences, Table* table);

  int64_t size_ = 0;  // of the dense block
  std::vector<int64_t> dims_;
  std::vector<Run> runs_;
  std::vector<Table> tables_;
  int parts_ = 0;
  Gradients result_;
};

}  // namespace flotilla
