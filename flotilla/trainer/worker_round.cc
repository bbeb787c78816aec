#include "flotilla/trainer/worker_round.h"

#include <utility>

#include "flotilla/kernels/denormals.h"

namespace flotilla {

WorkerRound::WorkerRound(const RoundParts& parts, int worker)
    : plan_(parts.plan), clock_(parts.clock), stop_(parts.stop), pool_(nullptr) {
  AddWorker(parts, worker);
}

WorkerRound::WorkerRound(const RoundParts& parts, WorkerPool* pool)
    : plan_(parts.plan), clock_(parts.clock), stop_(parts.stop), pool_(pool) {
  for (int w = 0; w < pool->workers(); ++w) AddWorker(parts, w);
  if (pool->workers() > 1) merger_.emplace(parts.communicator->spec());
}

void WorkerRound::AddWorker(const RoundParts& parts, int worker) {
  Worker& added = workers_.emplace_back();
  added.step = std::make_unique<Step>(parts.plan, parts.step);
  added.lane = {.worker = worker,
                .step = added.step.get(),
                .communicator = parts.communicator,
                .clock = parts.clock};
}

template <typename Work>
Status WorkerRound::RunWorkers(const Work& work) {
  if (pool_ == nullptr) return work(workers_[0]);
  pool_->Run([&](int w) {
    const kernels::FlushDenormals flush;
    if (w < batches_) workers_[w].status = work(workers_[w]);
    workers_[w].ended = clock_->NowNanos();
  });
  const int64_t now = clock_->NowNanos();
  for (Worker& worker : workers_) worker.lane.times.wait += now - worker.ended;
  for (int w = 0; w < batches_; ++w) FL_RETURN_IF_ERROR(workers_[w].status);
  return absl::OkStatus();
}

Status WorkerRound::Read(Dataset& dataset) {
  batches_ = 0;
  const int reader = workers_[0].lane.worker;
  // By one thread: which worker computes which batch must not depend on who is faster.
  for (Worker& worker : workers_) {
    const int64_t start = clock_->NowNanos();
    FL_ASSIGN_OR_RETURN(const bool more, NextUnlessStopped(dataset, reader, stop_, &worker.batch));
    worker.lane.times.read += clock_->NowNanos() - start;
    if (!more) break;
    ++batches_;
  }
  if (batches_ == 0) return absl::OkStatus();
  return RunWorkers([](Worker& worker) { return Prepare(BatchSlice(worker.batch), worker.lane); });
}

Status WorkerRound::StartPulls() {
  for (int w = 0; w < batches_; ++w) FL_RETURN_IF_ERROR(StartPull(workers_[w].lane));
  return absl::OkStatus();
}

StatusOr<Gradients*> WorkerRound::Compute() {
  FL_CHECK(batches_ > 0);
  FL_RETURN_IF_ERROR(
      RunWorkers([](Worker& worker) { return flotilla::Compute(worker.lane, worker.gradients); }));
  TakeResults();
  for (size_t w = 0; w < results_.size(); ++w) results_[w].loss = workers_[w].gradients.loss;
  if (results_.size() == 1) return &workers_[0].gradients;
  std::vector<const Gradients*> gradients;
  for (size_t w = 0; w < results_.size(); ++w) gradients.push_back(&workers_[w].gradients);
  merger_->Merge(gradients, 1.0f / static_cast<float>(gradients.size()), *pool_);
  return &merger_->Result();
}

Status WorkerRound::Predict() {
  FL_CHECK(batches_ > 0);
  FL_RETURN_IF_ERROR(RunWorkers([](Worker& worker) { return flotilla::Predict(worker.lane); }));
  TakeResults();
  return absl::OkStatus();
}

void WorkerRound::TakeResults() {
  results_.clear();
  const int batches = std::exchange(batches_, 0);
  for (int w = 0; w < batches; ++w) {
    Worker& worker = workers_[w];
    worker.fetched.clear();
    for (size_t k = 0; k < plan_->options().fetches.size(); ++k) {
      worker.fetched.push_back(worker.step->fetched(static_cast<int>(k)));
    }
    results_.push_back({.rows = worker.batch.rows, .fetched = worker.fetched});
  }
}

}  // namespace flotilla
