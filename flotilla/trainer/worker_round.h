// A round in which every worker has its own batch: of all workers if they are joined over servers,
// of one worker if they are free. See joined_round.h for workers that share a batch.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/worker_pool.h"
#include "flotilla/communicator/gradient_merger.h"
#include "flotilla/trainer/part.h"

namespace flotilla {

// How the gradients of several workers are combined, in worker order.
enum class RoundMerge {
  kMean,  // and every batch counts as a step
  kSum,   // one step
};

class WorkerRound : public Round {
 public:
  // A round of one worker, in the calling thread.
  explicit WorkerRound(std::unique_ptr<Part> part);
  // A round of all workers of the pool; parts[w] belongs to worker w. REQUIRES: pool and clock
  // outlive it.
  WorkerRound(std::vector<std::unique_ptr<Part>> parts, RoundMerge merge, const ModelSpec& spec,
              WorkerPool* pool, const Clock* clock);

  // One thread reads for all workers, in their order; then each finds the rows that it needs. May
  // run while a push of the previous round is in flight.
  Status Read() override;
  int batches() const override { return batches_; }
  void Clear() override { batches_ = 0; }
  Status StartPulls() override;
  StatusOr<Gradients*> Compute() override;
  std::span<const BatchResult> results() const override { return results_; }
  int steps() const override { return merge_ == RoundMerge::kMean ? good_ : 1; }
  int lanes() const override { return static_cast<int>(workers_.size()); }
  Lane& lane(int i) override { return workers_[i].part->lane(); }

 private:
  struct Worker {
    std::unique_ptr<Part> part;
    Gradients* gradients = nullptr;
    int64_t ended = 0;  // when the worker finished its batch
    Status status;
  };

  // Runs `work` on the workers that have a batch.
  template <typename Work>
  Status RunWorkers(const Work& work);

  const RoundMerge merge_ = RoundMerge::kMean;
  WorkerPool* const pool_ = nullptr;  // null: one worker, in the calling thread
  const Clock* const clock_ = nullptr;
  std::unique_ptr<GradientMerger> merger_;  // if there are several workers
  std::vector<Worker> workers_;
  std::vector<BatchResult> results_;
  int batches_ = 0;  // read; they belong to the first batches_ workers
  int good_ = 0;     // of those of the last Compute, without bad ones
};

}  // namespace flotilla
