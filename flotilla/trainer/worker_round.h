// A round in which every worker computes a batch of its own, and the mean of their gradients, added
// in worker order, is pushed: of all workers where they are joined over servers, of one worker
// where they are free. Where workers share a batch: joined_round.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "flotilla/base/worker_pool.h"
#include "flotilla/communicator/gradient_merger.h"
#include "flotilla/trainer/round.h"

namespace flotilla {

class WorkerRound : public Round {
 public:
  // Of one worker, in the thread that calls.
  WorkerRound(const RoundParts& parts, int worker);
  // Of all workers of the pool, which outlives the round.
  WorkerRound(const RoundParts& parts, WorkerPool* pool);

  // By one thread, for the workers in their order; then finds the rows that they need. May run
  // while a push of the round before is under way.
  Status Read(Dataset& dataset) override;
  int batches() const override { return batches_; }
  void Clear() override { batches_ = 0; }
  Status StartPulls() override;
  StatusOr<Gradients*> Compute() override;
  Status Predict() override;
  std::span<const BatchResult> results() const override { return results_; }
  int lanes() const override { return static_cast<int>(workers_.size()); }
  Lane& lane(int i) override { return workers_[i].lane; }

 private:
  struct Worker {
    std::unique_ptr<Step> step;
    Lane lane;
    Batch batch;
    Gradients gradients;
    std::vector<FetchedValue> fetched;
    int64_t ended = 0;  // when the worker was done with its batch
    Status status;
  };

  void AddWorker(const RoundParts& parts, int worker);
  // Runs `work` on the workers that have a batch.
  template <typename Work>
  Status RunWorkers(const Work& work);
  // Takes over what the steps of the batches have found.
  void TakeResults();

  const Plan* const plan_;
  const Clock* const clock_;
  const std::function<bool()> stop_;
  WorkerPool* const pool_;                // null: one worker, in the thread that calls
  std::optional<GradientMerger> merger_;  // of several workers
  std::vector<Worker> workers_;
  std::vector<BatchResult> results_;
  int batches_ = 0;  // of the first so many workers
};

}  // namespace flotilla
