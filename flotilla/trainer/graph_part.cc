#include "flotilla/trainer/graph_part.h"

#include "flotilla/trainer/bad_batch.h"

namespace flotilla {

Lane GraphParts::MakeLane(int worker, Step* lane_step) const {
  return {.worker = worker,
          .step = lane_step,
          .communicator = communicator,
          .clock = clock,
          .missing = plan->training() ? Missing::kCreate : Missing::kDefault,
          .checked_first = checked_first};
}

StatusOr<bool> GraphParts::Read(int reader, Lane& lane, Batch* batch) const {
  const int64_t start = clock->NowNanos();
  StatusOr<bool> more = next(reader, batch);
  lane.times.read += clock->NowNanos() - start;
  return more;
}

Status GraphParts::Drop(const Batch& batch, const Status& error) const {
  return IsBadBatch(error) && on_bad_batch ? on_bad_batch(batch, error) : error;
}

GraphPart::GraphPart(const GraphParts& parts, int worker)
    : parts_(parts), step_(parts.plan, parts.step), lane_(parts.MakeLane(worker, &step_)) {}

StatusOr<Gradients*> GraphPart::Compute() {
  Gradients* const gradients = parts_.plan->training() ? &gradients_ : nullptr;
  fetched_.clear();
  if (const Status status = flotilla::Compute(lane_, gradients); !status.ok()) {
    FL_RETURN_IF_ERROR(parts_.Drop(batch_, status));
    result_ = {.rows = batch_.rows, .ordinal = batch_.ordinal, .dropped = true};
    return nullptr;
  }
  for (size_t k = 0; k < parts_.plan->options().fetches.size(); ++k) {
    fetched_.push_back(step_.fetched(static_cast<int>(k)));
  }
  result_ = {.rows = batch_.rows,
             .ordinal = batch_.ordinal,
             .loss = gradients == nullptr ? 0 : gradients->loss,
             .fetched = fetched_};
  return gradients;
}

}  // namespace flotilla
