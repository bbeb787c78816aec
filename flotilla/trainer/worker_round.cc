#include "flotilla/trainer/worker_round.h"

#include <utility>

#include "flotilla/kernels/denormals.h"

namespace flotilla {

WorkerRound::WorkerRound(std::unique_ptr<Part> part) {
  workers_.emplace_back().part = std::move(part);
}

WorkerRound::WorkerRound(std::vector<std::unique_ptr<Part>> parts, RoundMerge merge,
                         const ModelSpec& spec, WorkerPool* pool, const Clock* clock)
    : merge_(merge), pool_(pool), clock_(clock) {
  for (std::unique_ptr<Part>& part : parts) workers_.emplace_back().part = std::move(part);
  if (workers_.size() > 1) merger_ = std::make_unique<GradientMerger>(spec);
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
  for (Worker& worker : workers_) worker.part->lane().times.wait += now - worker.ended;
  for (int w = 0; w < batches_; ++w) FL_RETURN_IF_ERROR(workers_[w].status);
  return absl::OkStatus();
}

Status WorkerRound::Read() {
  batches_ = 0;
  const int reader = lane(0).worker;
  // By one thread: the assignment of batches to workers must not depend on their speed.
  for (Worker& worker : workers_) {
    FL_ASSIGN_OR_RETURN(const bool more, worker.part->Read(reader));
    if (!more) break;
    ++batches_;
  }
  if (batches_ == 0) return absl::OkStatus();
  return RunWorkers([](Worker& worker) { return worker.part->Prepare(); });
}

Status WorkerRound::StartPulls() {
  for (int w = 0; w < batches_; ++w) FL_RETURN_IF_ERROR(workers_[w].part->StartPull());
  return absl::OkStatus();
}

StatusOr<Gradients*> WorkerRound::Compute() {
  FL_CHECK(batches_ > 0);
  FL_RETURN_IF_ERROR(RunWorkers([](Worker& worker) -> Status {
    FL_ASSIGN_OR_RETURN(worker.gradients, worker.part->Compute());
    return absl::OkStatus();
  }));
  const int computed = std::exchange(batches_, 0);
  results_.clear();
  std::vector<const Gradients*> gradients;
  Gradients* last = nullptr;
  for (int w = 0; w < computed; ++w) {
    results_.push_back(workers_[w].part->result());
    if (workers_[w].gradients == nullptr) continue;
    gradients.push_back(last = workers_[w].gradients);
  }
  good_ = static_cast<int>(gradients.size());
  if (good_ <= 1) return last;
  const float scale = merge_ == RoundMerge::kMean ? 1.0f / static_cast<float>(good_) : 1.0f;
  merger_->Merge(gradients, scale, *pool_);
  return &merger_->Result();
}

}  // namespace flotilla
