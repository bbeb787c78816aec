// A round of one batch that all workers share: it is split into chunks of a fixed number of rows,
// and the gradients of the chunks are added in their order, so that the result does not depend on
// the number of workers or on their speed. See worker_round.h for rounds with a batch per worker.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "flotilla/base/worker_pool.h"
#include "flotilla/communicator/gradient_merger.h"
#include "flotilla/trainer/graph_part.h"
#include "flotilla/trainer/round.h"

namespace flotilla {

class JoinedRound : public Round {
 public:
  // A plan whose rows cannot be split (batch norm) is computed as one chunk, by one worker.
  // REQUIRES: chunk_rows >= 1; the pool outlives the round.
  JoinedRound(const GraphParts& parts, int64_t chunk_rows, WorkerPool* pool);

  Status Read() override;
  int batches() const override { return batches_; }
  void Clear() override { batches_ = 0; }
  Status StartPulls() override {
    return absl::OkStatus();
  }  // the worker of a chunk is not known yet
  StatusOr<Gradients*> Compute() override;
  std::span<const BatchResult> results() const override { return {&result_, 1}; }
  int steps() const override { return 1; }
  int lanes() const override { return static_cast<int>(lanes_.size()); }
  Lane& lane(int i) override { return lanes_[i]; }

 private:
  struct Chunk {
    Gradients gradients;
    std::vector<std::vector<float>> fetched;
    Status status;
  };

  Status RunChunks();
  Status RunChunk(const BatchSlice& slice, Chunk* chunk, Lane& lane);
  // The sum of the gradients of the chunks, as valid as they are.
  Gradients* AddChunks();
  void JoinFetched();

  const GraphParts parts_;
  const int64_t chunk_rows_;
  WorkerPool* const pool_;
  std::vector<std::unique_ptr<Step>> steps_;  // by worker
  std::vector<Lane> lanes_;
  GradientMerger merger_;
  Batch batch_;
  int batches_ = 0;
  std::vector<Chunk> chunks_;   // the chunks of the current batch come first
  std::vector<int64_t> ended_;  // by worker, when it ran out of chunks
  size_t used_ = 0;
  std::vector<std::vector<float>> joined_;
  std::vector<FetchedValue> fetched_;
  BatchResult result_;
};

}  // namespace flotilla
