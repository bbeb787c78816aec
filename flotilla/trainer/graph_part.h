// Computes a batch of rows with a graph.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/graph/plan.h"
#include "flotilla/graph/step.h"
#include "flotilla/trainer/part.h"

namespace flotilla {

// The arguments of parts and rounds of a graph. Everything pointed to outlives them.
struct GraphParts {
  const Plan* plan = nullptr;  // without a loss: forward only, and no rows are created
  StepOptions step;
  Communicator* communicator = nullptr;
  const Clock* clock = nullptr;
  bool checked_first = false;  // Lane::checked_first
  // Reads the next batch for a worker; false at the end of the data.
  std::function<StatusOr<bool>(int reader, Batch* batch)> next;
  // Called by any worker for a batch that must not be trained on (bad_batch.h): ok drops it, an
  // error ends the work. Empty: the cause is the error.
  std::function<Status(const Batch& batch, const Status& cause)> on_bad_batch;

  Lane MakeLane(int worker, Step* step) const;
  // Decides what becomes of a batch whose computation ended with this error: ok drops it.
  Status Drop(const Batch& batch, const Status& error) const;
  // Calls next; the time is added to the lane.
  StatusOr<bool> Read(int reader, Lane& lane, Batch* batch) const;
};

class GraphPart : public Part {
 public:
  GraphPart(const GraphParts& parts, int worker);

  StatusOr<bool> Read(int reader) override { return parts_.Read(reader, lane_, &batch_); }
  Status Prepare() override { return flotilla::Prepare(BatchSlice(batch_), lane_); }
  Status StartPull() override { return flotilla::StartPull(lane_); }
  StatusOr<Gradients*> Compute() override;
  BatchResult result() const override { return result_; }
  Lane& lane() override { return lane_; }

 private:
  const GraphParts parts_;
  Step step_;
  Lane lane_;
  Batch batch_;
  Gradients gradients_;
  std::vector<FetchedValue> fetched_;
  BatchResult result_;
};

}  // namespace flotilla
