// The training step: one batch in one worker.
//
//   Prepare    finds the rows that the batch needs
//   StartPull  requests them
//   Compute    waits for them, then forward, backward, gradients; or forward only
//   StartPush  clips the gradients and passes them to the communicator
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "flotilla/base/clock.h"
#include "flotilla/base/status.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/graph/step.h"

namespace flotilla {

// How a worker spent its time, in nanoseconds.
struct StageTimes {
  int64_t read = 0;
  int64_t pull = 0;
  int64_t compute = 0;
  int64_t push = 0;
  int64_t wait = 0;  // for the other workers of a round

  void Add(const StageTimes& other);
};

// Whether a read has ended with this status because `stop` is true: the end of the data, not an
// error. `stop` may be empty.
inline bool EndedByStop(const Status& status, const std::function<bool()>& stop) {
  return absl::IsCancelled(status) && stop && stop();
}

// Calls dataset.Next; false also if a stop has ended the read.
StatusOr<bool> NextUnlessStopped(Dataset& dataset, int worker, const std::function<bool()>& stop,
                                 Batch* batch);

// The state of a worker for its batches. Everything pointed to outlives it.
struct Lane {
  int worker = 0;
  Step* step = nullptr;
  Communicator* communicator = nullptr;
  const Clock* clock = nullptr;
  Missing missing = Missing::kCreate;  // how missing rows are handled
  bool checked_first = false;          // all gradients are checked before one is applied
  StageTimes times;
  std::optional<Pending> pull;   // started, but not yet waited for
  const Batch* batch = nullptr;  // of the last Prepare
};

// The batch of the slice must exist until Compute has returned.
Status Prepare(const BatchSlice& slice, Lane& lane);

// For lanes that have other work until the rows arrive.
Status StartPull(Lane& lane);

// Pulls, unless StartPull was called, and computes. If the communicator offers dense parameters in
// place and nothing must be clipped first, they are updated during the computation. Null: forward
// only.
//
// If the loss or a gradient is bad (bad_batch.h), nothing must be pushed: an error for which
// IsBadBatch is true. In place no bad value is applied. A batch with unusual numbers, or of a lane
// that is checked first, is computed before any of it is applied; otherwise the layers behind the
// first bad gradient, which come before it in the backward pass, have been updated.
Status Compute(Lane& lane, Gradients* gradients);

// Like Compute, of a part of a batch whose gradients will be added to those of the other parts:
// they are neither checked nor applied. The sum is checked by CheckGradients.
Status ComputePart(Lane& lane, Gradients* gradients);
Status CheckGradients(const Communicator& communicator, const Gradients& gradients,
                      const Batch& batch);

// `gradients` are those of one batch, or the mean of those of `batches` batches.
StatusOr<Pending> StartPush(Gradients& gradients, int batches, Lane& lane);

}  // namespace flotilla
