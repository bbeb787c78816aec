#include "flotilla/trainer/train_step.h"

#include <utility>

#include "flotilla/kernels/vec.h"
#include "flotilla/optim/gradient_clip.h"
#include "flotilla/trainer/bad_batch.h"

namespace flotilla {
namespace {

// Adds the time between its construction and destruction to a counter.
class Stopwatch {
 public:
  Stopwatch(const Lane& lane, int64_t* time)
      : clock_(*lane.clock), time_(*time), start_(clock_.NowNanos()) {}
  ~Stopwatch() { time_ += clock_.NowNanos() - start_; }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  const Clock& clock_;
  int64_t& time_;
  const int64_t start_;
};

// Applies gradients in place as they become available, up to the first bad one.
class GuardedUpdates {
 public:
  explicit GuardedUpdates(Communicator& communicator)
      : spec_(communicator.spec()),
        in_place_(*communicator.dense_in_place()),
        limit_(LargestGradient(spec_.optimizer.clip)) {}

  void Update(int parameter, GradientSource gradient) {
    if (!status_.ok()) return;
    in_place_.Update(parameter, [&](int64_t begin, int64_t length, auto soon) -> const float* {
      const float* const part = gradient(begin, length, soon);
      if (kernels::AllWithin(length, limit_, part)) return part;
      status_ = BadGradient(spec_, parameter, begin, {part, static_cast<size_t>(length)});
      return nullptr;
    });
  }
  const Status& status() const { return status_; }

 private:
  const ModelSpec& spec_;
  DenseInPlace& in_place_;
  const float limit_;
  Status status_;
};

// Says in which batch the gradients are bad; the step has said it of a loss.
Status InBatch(const Status& status, const Batch& batch) {
  if (status.ok()) return status;
  return Status(status.code(), fmt::format("{} in epoch {}, batch {}", Message(status), batch.epoch,
                                           batch.ordinal));
}

Status RunInPlace(Lane& lane, Gradients* gradients) {
  Communicator& communicator = *lane.communicator;
  GuardedUpdates updates(communicator);
  gradients->dense_applied = true;
  FL_RETURN_IF_ERROR(lane.step->Run(
      communicator.dense(), gradients,
      [&updates](int parameter, GradientSource gradient) { updates.Update(parameter, gradient); }));
  return InBatch(updates.status(), *lane.batch);
}

Status RunAndCheck(Lane& lane, Gradients* gradients) {
  Communicator& communicator = *lane.communicator;
  gradients->dense_applied = false;
  FL_RETURN_IF_ERROR(lane.step->Run(communicator.dense(), gradients));
  return InBatch(CheckDense(communicator.spec(), communicator.layout(), *gradients), *lane.batch);
}

Status WaitForRows(Lane& lane) {
  if (!lane.pull) FL_RETURN_IF_ERROR(StartPull(lane));
  const Stopwatch watch(lane, &lane.times.pull);
  return std::exchange(lane.pull, std::nullopt)->Wait();
}

}  // namespace

void StageTimes::Add(const StageTimes& other) {
  read += other.read;
  pull += other.pull;
  compute += other.compute;
  push += other.push;
  wait += other.wait;
}

StatusOr<bool> NextUnlessStopped(Dataset& dataset, int worker, const std::function<bool()>& stop,
                                 Batch* batch) {
  StatusOr<bool> more = dataset.Next(worker, batch);
  if (EndedByStop(more.status(), stop)) return false;
  return more;
}

Status Prepare(const BatchSlice& slice, Lane& lane) {
  const Stopwatch watch(lane, &lane.times.compute);
  lane.pull.reset();
  lane.batch = slice.batch;
  return lane.step->Prepare(slice);
}

Status StartPull(Lane& lane) {
  const Stopwatch watch(lane, &lane.times.pull);
  FL_ASSIGN_OR_RETURN(lane.pull,
                      lane.communicator->StartPull(lane.worker, lane.missing, lane.step->rows()));
  return absl::OkStatus();
}

Status Compute(Lane& lane, Gradients* gradients) {
  FL_RETURN_IF_ERROR(WaitForRows(lane));
  const Stopwatch watch(lane, &lane.times.compute);
  Communicator& communicator = *lane.communicator;
  if (gradients == nullptr) return lane.step->Run(communicator.dense(), nullptr);
  const ModelSpec& spec = communicator.spec();
  const bool in_place = communicator.dense_in_place() != nullptr && !lane.checked_first &&
                        spec.optimizer.clip.kind == ClipSpec::Kind::kNone &&
                        HasUsualNumbers(*lane.batch);
  Status status = in_place ? RunInPlace(lane, gradients) : RunAndCheck(lane, gradients);
  if (status.ok()) status = InBatch(CheckSparse(spec, *gradients), *lane.batch);
  return status;
}

Status ComputePart(Lane& lane, Gradients* gradients) {
  FL_RETURN_IF_ERROR(WaitForRows(lane));
  const Stopwatch watch(lane, &lane.times.compute);
  if (gradients != nullptr) gradients->dense_applied = false;
  return lane.step->Run(lane.communicator->dense(), gradients);
}

Status CheckGradients(const Communicator& communicator, const Gradients& gradients,
                      const Batch& batch) {
  const ModelSpec& spec = communicator.spec();
  Status status = CheckDense(spec, communicator.layout(), gradients);
  if (status.ok()) status = CheckSparse(spec, gradients);
  return InBatch(status, batch);
}

StatusOr<Pending> StartPush(Gradients& gradients, int batches, Lane& lane) {
  const Stopwatch watch(lane, &lane.times.push);
  Communicator& communicator = *lane.communicator;
  const ModelSpec& spec = communicator.spec();
  ClipGradients(spec.optimizer.clip, communicator.layout(), spec.parameters, gradients);
  return communicator.StartPush(lane.worker, gradients, batches);
}

}  // namespace flotilla
