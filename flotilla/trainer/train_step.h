// The story of training: one batch through one worker.
//
//   Prepare    which rows the batch needs
//   StartPull  .. are asked for
//   Compute    .. and, once they are here: forward, backward, gradients; or forward only
//   StartPush  .. which are clipped and handed to the communicator
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

// Where a worker's time went, in nanoseconds.
struct StageTimes {
  int64_t read = 0;
  int64_t pull = 0;
  int64_t compute = 0;
  int64_t push = 0;
  int64_t wait = 0;  // for the other workers of a round

  void Add(const StageTimes& other);
};

// dataset.Next, where a read that was cancelled because `stop` is true is the end of the data, not
// an error. `stop` may be empty.
StatusOr<bool> NextUnlessStopped(Dataset& dataset, int worker, const std::function<bool()>& stop,
                                 Batch* batch);

// The way of a worker's batches. Everything pointed to outlives it.
struct Lane {
  int worker = 0;
  Step* step = nullptr;
  Communicator* communicator = nullptr;
  const Clock* clock = nullptr;
  Missing missing = Missing::kCreate;  // what becomes of rows that there are not
  StageTimes times;
  std::optional<Pending> pull;  // started, and not yet waited for
};

// The slice's batch must stay until Compute has returned.
Status Prepare(const BatchSlice& slice, Lane& lane);

// For lanes that have something else to do until the rows are here.
Status StartPull(Lane& lane);

// Pulls, unless StartPull was called, and computes. Where the communicator offers dense parameters
// in place and nothing must be clipped first, they are updated on the way. Null: forward only.
Status Compute(Lane& lane, Gradients* gradients);

// `gradients` are those of one batch, or the mean of those of so many.
StatusOr<Pending> StartPush(Gradients& gradients, int batches, Lane& lane);

}  // namespace flotilla
