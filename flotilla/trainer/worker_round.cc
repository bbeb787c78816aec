#include "flotilla/trainer/worker_round.h"

#include "flotilla/kernels/denormals.h"

namespace flotilla {

WorkerRound::WorkerRound(std::vector<Step*> steps, Communicator* communicator, const Clock* clock,
                         WorkerPool* pool, std::function<bool()> stop)
    : communicator_(communicator),
      clock_(clock),
      pool_(pool),
      stop_(std::move(stop)),
      merger_(communicator->spec()),
      parts_(steps.size()) {
  for (size_t w = 0; w < steps.size(); ++w) parts_[w].step = steps[w];
}

template <typename Work>
Status WorkerRound::RunParts(const Work& work) {
  pool_->Run([&](int w) {
    const kernels::FlushDenormals flush;
    if (w < batches_) parts_[w].status = work(w, parts_[w]);
    parts_[w].ended = clock_->NowNanos();
  });
  const int64_t now = clock_->NowNanos();
  for (Part& part : parts_) part.times.wait += now - part.ended;
  for (int w = 0; w < batches_; ++w) FL_RETURN_IF_ERROR(parts_[w].status);
  return absl::OkStatus();
}

Status WorkerRound::Read(Dataset& dataset) {
  batches_ = 0;
  // By one thread: which worker computes which batch must not depend on who is faster.
  for (Part& part : parts_) {
    part.pull = nullptr;
    const int64_t start = clock_->NowNanos();
    FL_ASSIGN_OR_RETURN(const bool more, NextUnlessStopped(dataset, 0, stop_, &part.batch));
    part.times.read += clock_->NowNanos() - start;
    if (!more) break;
    ++batches_;
  }
  return RunParts([&](int, Part& part) {
    return PrepareRows(BatchSlice(part.batch), *part.step, *clock_, part.times);
  });
}

Status WorkerRound::StartPulls() {
  for (int w = 0; w < batches_; ++w) {
    Part& part = parts_[w];
    const int64_t start = clock_->NowNanos();
    FL_ASSIGN_OR_RETURN(part.pull,
                        communicator_->StartPull(w, Missing::kCreate, part.step->rows()));
    part.times.pull += clock_->NowNanos() - start;
  }
  return absl::OkStatus();
}

StatusOr<Gradients*> WorkerRound::Compute() {
  FL_CHECK(batches_ > 0);
  FL_RETURN_IF_ERROR(RunParts([&](int w, Part& part) {
    const std::unique_ptr<PendingCall> pull = std::move(part.pull);
    return pull == nullptr
               ? PullAndCompute(w, *part.step, *communicator_, *clock_, part.gradients, part.times)
               : FinishGradients(*pull, *part.step, *communicator_, *clock_, part.gradients,
                                 part.times);
  }));
  results_.clear();
  for (int w = 0; w < batches_; ++w) {
    results_.push_back({.rows = parts_[w].gradients.rows, .loss = parts_[w].gradients.loss});
  }
  if (batches_ == 1) return &parts_[0].gradients;
  std::vector<const Gradients*> gradients;
  for (int w = 0; w < batches_; ++w) gradients.push_back(&parts_[w].gradients);
  merger_.Merge(gradients, 1.0f / static_cast<float>(batches_), *pool_);
  return &merger_.Result();
}

Status WorkerRound::Predict() {
  return RunParts([&](int w, Part& part) -> Status {
    FL_RETURN_IF_ERROR(communicator_->Pull(w, Missing::kDefault, part.step->rows()));
    return part.step->Run(communicator_->dense(), nullptr);
  });
}

}  // namespace flotilla
