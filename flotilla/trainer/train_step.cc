#include "flotilla/trainer/train_step.h"

#include <utility>

#include "flotilla/optim/gradient_clip.h"

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
  if (absl::IsCancelled(more.status()) && stop && stop()) return false;
  return more;
}

Status Prepare(const BatchSlice& slice, Lane& lane) {
  const Stopwatch watch(lane, &lane.times.compute);
  lane.pull.reset();
  return lane.step->Prepare(slice);
}

Status StartPull(Lane& lane) {
  const Stopwatch watch(lane, &lane.times.pull);
  FL_ASSIGN_OR_RETURN(lane.pull,
                      lane.communicator->StartPull(lane.worker, lane.missing, lane.step->rows()));
  return absl::OkStatus();
}

Status Compute(Lane& lane, Gradients* gradients) {
  if (!lane.pull) FL_RETURN_IF_ERROR(StartPull(lane));
  {
    const Stopwatch watch(lane, &lane.times.pull);
    FL_RETURN_IF_ERROR(std::exchange(lane.pull, std::nullopt)->Wait());
  }
  const Stopwatch watch(lane, &lane.times.compute);
  Communicator& communicator = *lane.communicator;
  if (gradients == nullptr) return lane.step->Run(communicator.dense(), nullptr);
  DenseInPlace* const in_place = communicator.spec().optimizer.clip.kind == ClipSpec::Kind::kNone
                                     ? communicator.dense_in_place()
                                     : nullptr;
  DenseReady ready;
  if (in_place != nullptr) {
    ready = [in_place](int parameter, GradientSource g) { in_place->Update(parameter, g); };
  }
  gradients->dense_applied = in_place != nullptr;
  return lane.step->Run(communicator.dense(), gradients, ready);
}

StatusOr<Pending> StartPush(Gradients& gradients, int batches, Lane& lane) {
  const Stopwatch watch(lane, &lane.times.push);
  Communicator& communicator = *lane.communicator;
  const ModelSpec& spec = communicator.spec();
  ClipGradients(spec.optimizer.clip, communicator.layout(), spec.parameters, gradients);
  return communicator.StartPush(lane.worker, gradients, batches);
}

}  // namespace flotilla
