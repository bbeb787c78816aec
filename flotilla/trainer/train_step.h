// The story of training: one batch through one worker.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

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

// Rows needed -> Pull -> forward and backward: the gradients of a slice of a batch. Where the
// communicator offers dense parameters in place and nothing must be clipped first, they are updated
// on the way.
Status ComputeGradients(int worker, const BatchSlice& slice, Step& step, Communicator& communicator,
                        const Clock& clock, Gradients& gradients, StageTimes& times);

// Its two halves, for workers that have the time for the first before they may pull: finds the rows
// that a slice needs; then the rest. The slice's batch must stay until the second has returned.
Status PrepareRows(const BatchSlice& slice, Step& step, const Clock& clock, StageTimes& times);
Status PullAndCompute(int worker, Step& step, Communicator& communicator, const Clock& clock,
                      Gradients& gradients, StageTimes& times);

// ComputeGradients in two other parts, for a worker that works on two batches at a time: the rows
// of one are on their way while the other is computed. The slice's batch must stay until
// FinishGradients returns.
StatusOr<std::unique_ptr<PendingCall>> StartGradients(int worker, const BatchSlice& slice,
                                                      Step& step, Communicator& communicator,
                                                      const Clock& clock, StageTimes& times);
Status FinishGradients(PendingCall& pull, Step& step, Communicator& communicator,
                       const Clock& clock, Gradients& gradients, StageTimes& times);

// Rows needed -> Pull, making none -> forward only: step.fetched() of a slice of a batch.
Status Predict(int worker, const BatchSlice& slice, Step& step, Communicator& communicator);

// Clip -> Push in two parts: Wait of the result returns when it is done.
StatusOr<std::unique_ptr<PendingCall>> StartApplying(Communicator& communicator, RoundPush& push,
                                                     Gradients& mean, int batches);

// Clip -> Push.
Status ApplyGradients(int worker, Communicator& communicator, const Clock& clock,
                      Gradients& gradients, StageTimes& times);

}  // namespace flotilla
