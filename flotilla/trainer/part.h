// The batch of one worker in a round: how it is read, which rows it needs and how it is computed. A
// part belongs to a graph (graph_part.h) or to skip-gram (skipgram_part.h).
#pragma once

#include "flotilla/base/status.h"
#include "flotilla/tensor/gradients.h"
#include "flotilla/trainer/round.h"
#include "flotilla/trainer/train_step.h"

namespace flotilla {

// Not thread-safe.
class Part {
 public:
  virtual ~Part() = default;

  // Reads the next batch; `reader` is the index of the calling worker. Returns false at the end of
  // the data.
  virtual StatusOr<bool> Read(int reader) = 0;
  // Finds the rows that the batch needs; called in the worker's thread, like Compute.
  virtual Status Prepare() = 0;
  virtual Status StartPull() = 0;
  // Pulls, unless StartPull was called, and computes. Returns the gradients to push, or null.
  virtual StatusOr<Gradients*> Compute() = 0;
  // The result of the last Compute, valid until the next Read.
  virtual BatchResult result() const = 0;
  virtual Lane& lane() = 0;
};

}  // namespace flotilla
