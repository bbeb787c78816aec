#include "flotilla/trainer/train_step.h"

#include "flotilla/optim/gradient_clip.h"

namespace flotilla {

void StageTimes::Add(const StageTimes& other) {
  read += other.read;
  pull += other.pull;
  compute += other.compute;
  push += other.push;
  wait += other.wait;
}

namespace {

Status RunStep(Step& step, Communicator& communicator, Gradients& gradients) {
  DenseInPlace* in_place = communicator.spec().optimizer.clip.kind == ClipSpec::Kind::kNone
                               ? communicator.dense_in_place()
                               : nullptr;
  DenseReady ready;
  if (in_place != nullptr) {
    ready = [in_place](int parameter, GradientSource g) { in_place->Update(parameter, g); };
  }
  gradients.dense_applied = in_place != nullptr;
  return step.Run(communicator.dense(), &gradients, ready);
}

}  // namespace

StatusOr<bool> NextUnlessStopped(Dataset& dataset, int worker, const std::function<bool()>& stop,
                                 Batch* batch) {
  StatusOr<bool> more = dataset.Next(worker, batch);
  if (absl::IsCancelled(more.status()) && stop && stop()) return false;
  return more;
}

Status ComputeGradients(int worker, const BatchSlice& slice, Step& step, Communicator& communicator,
                        const Clock& clock, Gradients& gradients, StageTimes& times) {
  FL_RETURN_IF_ERROR(PrepareRows(slice, step, clock, times));
  return PullAndCompute(worker, step, communicator, clock, gradients, times);
}

Status PrepareRows(const BatchSlice& slice, Step& step, const Clock& clock, StageTimes& times) {
  const int64_t start = clock.NowNanos();
  FL_RETURN_IF_ERROR(step.Prepare(slice));
  times.compute += clock.NowNanos() - start;
  return absl::OkStatus();
}

Status PullAndCompute(int worker, Step& step, Communicator& communicator, const Clock& clock,
                      Gradients& gradients, StageTimes& times) {
  const int64_t start = clock.NowNanos();
  FL_RETURN_IF_ERROR(communicator.Pull(worker, Missing::kCreate, step.rows()));
  const int64_t pulled = clock.NowNanos();
  FL_RETURN_IF_ERROR(RunStep(step, communicator, gradients));
  times.pull += pulled - start;
  times.compute += clock.NowNanos() - pulled;
  return absl::OkStatus();
}

StatusOr<std::unique_ptr<PendingCall>> StartGradients(int worker, const BatchSlice& slice,
                                                      Step& step, Communicator& communicator,
                                                      const Clock& clock, StageTimes& times) {
  FL_RETURN_IF_ERROR(PrepareRows(slice, step, clock, times));
  const int64_t start = clock.NowNanos();
  auto pull = communicator.StartPull(worker, Missing::kCreate, step.rows());
  times.pull += clock.NowNanos() - start;
  return pull;
}

Status FinishGradients(PendingCall& pull, Step& step, Communicator& communicator,
                       const Clock& clock, Gradients& gradients, StageTimes& times) {
  const int64_t start = clock.NowNanos();
  FL_RETURN_IF_ERROR(pull.Wait());
  const int64_t pulled = clock.NowNanos();
  FL_RETURN_IF_ERROR(RunStep(step, communicator, gradients));
  times.pull += pulled - start;
  times.compute += clock.NowNanos() - pulled;
  return absl::OkStatus();
}

Status Predict(int worker, const BatchSlice& slice, Step& step, Communicator& communicator) {
  FL_RETURN_IF_ERROR(step.Prepare(slice));
  FL_RETURN_IF_ERROR(communicator.Pull(worker, Missing::kDefault, step.rows()));
  return step.Run(communicator.dense(), nullptr);
}

StatusOr<std::unique_ptr<PendingCall>> StartApplying(Communicator& communicator, RoundPush& push,
                                                     Gradients& mean, int batches) {
  const ModelSpec& spec = communicator.spec();
  ClipGradients(spec.optimizer.clip, communicator.layout(), spec.parameters, mean);
  return push.Start(mean, batches);
}

Status ApplyGradients(int worker, Communicator& communicator, const Clock& clock,
                      Gradients& gradients, StageTimes& times) {
  const int64_t start = clock.NowNanos();
  const ModelSpec& spec = communicator.spec();
  ClipGradients(spec.optimizer.clip, communicator.layout(), spec.parameters, gradients);
  FL_RETURN_IF_ERROR(communicator.Push(worker, gradients));
  times.push += clock.NowNanos() - start;
  return absl::OkStatus();
}

}  // namespace flotilla
