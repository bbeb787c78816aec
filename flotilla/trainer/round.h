// A round: batches that are computed together and pushed once. Whether one worker runs it or all of
// them, and whether they share a batch, is the implementation's; the trainer's loop is the same.
//
//   Read -> [StartPulls] -> Compute -> gradients to push     (training)
//   Read -> Predict                                          (evaluation)
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "flotilla/base/clock.h"
#include "flotilla/base/status.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/graph/plan.h"
#include "flotilla/graph/step.h"
#include "flotilla/tensor/fetched_value.h"
#include "flotilla/tensor/gradients.h"
#include "flotilla/trainer/train_step.h"

namespace flotilla {

// What every round is made from. Everything pointed to outlives it.
struct RoundParts {
  const Plan* plan = nullptr;
  StepOptions step;
  Communicator* communicator = nullptr;
  const Clock* clock = nullptr;
  // Whether a read that was cancelled is the end of the data (NextUnlessStopped). May be empty.
  std::function<bool()> stop;
};

// What was found for one batch.
struct BatchResult {
  int64_t rows = 0;
  double loss = 0;                        // of Compute
  std::span<const FetchedValue> fetched;  // the plan's fetches; until the next Read
};

// Not thread-safe. Errors are the first in the order of batches.
class Round {
 public:
  virtual ~Round() = default;

  // Reads batches, in an order that does not depend on which worker is faster; at the end of the
  // data fewer, or none. Those of an earlier Read that were not computed are forgotten.
  virtual Status Read(Dataset& dataset) = 0;
  // How many wait for Compute or Predict.
  virtual int batches() const = 0;
  // Forgets them.
  virtual void Clear() = 0;
  // Starts the pulls of Compute.
  virtual Status StartPulls() = 0;

  // The gradients of the batch, or the mean of those of all of them. The caller may exchange their
  // buffers; valid until the next call. REQUIRES: batches() > 0.
  virtual StatusOr<Gradients*> Compute() = 0;
  // REQUIRES: batches() > 0.
  virtual Status Predict() = 0;
  // Of the batches of the last Compute or Predict.
  virtual std::span<const BatchResult> results() const = 0;

  // The lanes of its workers, which have their times.
  virtual int lanes() const = 0;
  virtual Lane& lane(int i) = 0;
};

}  // namespace flotilla
