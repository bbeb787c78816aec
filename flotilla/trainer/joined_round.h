// One round of joined workers in one process: a batch, cut into chunks of a fixed number of rows,
// computed by all workers together; the chunks' gradients are added in their order, so that the
// result does not depend on how many workers there are or which was faster. Part of a trainer; over
// servers each worker has a batch of its own instead (worker_round.h).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/worker_pool.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/communicator/gradient_merger.h"
#include "flotilla/graph/plan.h"
#include "flotilla/graph/step.h"
#include "flotilla/trainer/train_step.h"

namespace flotilla {

class JoinedRound {
 public:
  // REQUIRES: everything pointed to outlives the object.
  JoinedRound(const Plan* plan, int64_t chunk_rows, Communicator* communicator, const Clock* clock);

  // The gradients of the whole batch; of a plan without a loss, none: only the values are computed.
  // steps[w] and times[w] belong to worker w of the pool. The result is valid until the next call.
  // A plan whose rows cannot be cut (batch norm) is computed whole, by one worker. The first error
  // in the order of chunks is returned.
  StatusOr<Gradients*> Compute(const Batch& batch, WorkerPool& pool, std::span<Step* const> steps,
                               std::span<StageTimes> times);

  // Values of the last batch, in the order of the plan's fetches.
  std::span<const FetchedValue> fetched() const { return fetched_; }

 private:
  struct Chunk {
    Gradients gradients;
    std::vector<std::vector<float>> fetched;
    Status status;
  };

  void ComputeChunk(int worker, const Batch& batch, int64_t begin, int64_t end, Chunk* chunk,
                    Step& step, StageTimes& times);
  void JoinFetched(int64_t rows);

  const Plan* const plan_;
  const int64_t chunk_rows_;
  Communicator* const communicator_;
  const Clock* const clock_;
  GradientMerger merger_;
  std::vector<Chunk> chunks_;   // those of the current batch first
  std::vector<int64_t> ended_;  // per worker, when it had no more to do
  size_t used_ = 0;
  std::vector<std::vector<float>> joined_;
  std::vector<FetchedValue> fetched_;
};

}  // namespace flotilla
