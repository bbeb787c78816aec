// The batch of one worker in a round: how it is read, what it needs and what becomes of it. A part
// is of a graph (graph_part.h) or of skip-gram (skipgram_part.h).
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

  // The next batch; `reader` is the number of the worker that asks. False at the end of the data.
  virtual StatusOr<bool> Read(int reader) = 0;
  // Finds the rows that it needs; in the worker's thread, like Compute.
  virtual Status Prepare() = 0;
  virtual Status StartPull() = 0;
  // Pulls, unless StartPull was called, and computes. What is to be pushed, or null.
  virtual StatusOr<Gradients*> Compute() = 0;
  // Of the last Compute, until the next Read.
  virtual BatchResult result() const = 0;
  virtual Lane& lane() = 0;
};

}  // namespace flotilla
