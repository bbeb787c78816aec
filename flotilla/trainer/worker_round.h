// One round of joined workers over servers: every worker computes a batch of its own, and the mean
// of their gradients, added in worker order, is what the trainer pushes. Part of a trainer; in one
// process joined workers share a batch instead (joined_round.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/worker_pool.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/communicator/gradient_merger.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/graph/step.h"
#include "flotilla/trainer/train_step.h"

namespace flotilla {

// Not thread-safe. All errors: the first in the order of workers.
class WorkerRound {
 public:
  // steps[w] belongs to worker w of the pool. `stop`, unless it is empty, tells whether a read that
  // was cancelled is the end of the data (NextUnlessStopped). REQUIRES: everything pointed to
  // outlives the object.
  WorkerRound(std::vector<Step*> steps, Communicator* communicator, const Clock* clock,
              WorkerPool* pool, std::function<bool()> stop = {});

  // Reads a batch for every worker, in worker order, and finds the rows that they need; at the end
  // of the data fewer workers have one. May run while a push of the round before is under way.
  Status Read(Dataset& dataset);
  // Starts to pull what Compute needs; before it, if the communicator pulls behind a push.
  Status StartPulls();
  // Workers that have a batch: the first so many.
  int batches() const { return batches_; }

  // Pull, forward and backward of every batch. The mean of their gradients, which the caller may
  // take the buffers of, is valid until the next call. REQUIRES: batches() > 0.
  StatusOr<Gradients*> Compute();
  // Pull, making no row, and forward.
  Status Predict();

  // What Compute found for the batches, until its next call.
  struct Result {
    int64_t rows = 0;
    double loss = 0;
  };
  std::span<const Result> results() const { return results_; }
  // Rows of the batch of a worker, until the next Read.
  int64_t rows(int w) const { return parts_[w].batch.rows; }

  // Where the time of a worker went since the last call.
  StageTimes TakeTimes(int w) { return std::exchange(parts_[w].times, {}); }

 private:
  struct Part {
    Step* step = nullptr;
    Batch batch;
    std::unique_ptr<PendingCall> pull;  // null: Compute pulls
    Gradients gradients;
    StageTimes times;
    int64_t ended = 0;  // when the worker was done with its part
    Status status;
  };

  // Runs `work` on the workers that have a batch.
  template <typename Work>
  Status RunParts(const Work& work);

  Communicator* const communicator_;
  const Clock* const clock_;
  WorkerPool* const pool_;
  const std::function<bool()> stop_;
  GradientMerger merger_;
  std::vector<Part> parts_;
  std::vector<Result> results_;
  int batches_ = 0;
};

}  // namespace flotilla
