// The part of Trainer that runs forward only.
#include <span>
#include <vector>

#include "flotilla/trainer/train_step.h"
#include "flotilla/trainer/trainer.h"

namespace flotilla {

StatusOr<Report> Trainer::Evaluate(Dataset& dataset) {
  StartRun();
  FL_RETURN_IF_ERROR(dataset.StartEpoch(0));
  if (communicator_->workers() == WorkerSchedule::kJoined) {
    FL_RETURN_IF_ERROR(evaluate_parts_ != nullptr ? EvaluateRounds(dataset)
                                                  : EvaluateJoined(dataset));
  } else {
    FL_RETURN_IF_ERROR(RunWorkers([&](int w) { return EvaluateFree(w, dataset); }));
  }
  return FinishRun(dataset);
}

Status Trainer::EvaluateFree(int w, Dataset& dataset) {
  Worker& worker = workers_[w];
  Step& step = *worker.evaluate;
  while (!failed_.load(std::memory_order_relaxed)) {
    FL_ASSIGN_OR_RETURN(const bool more, Read(worker, w, dataset, {}, &worker.batch));
    if (!more) return absl::OkStatus();
    FL_RETURN_IF_ERROR(Predict(w, BatchSlice(worker.batch), step, *communicator_));
    CollectFetched(worker, step);
    CountEvaluated(w, worker.batch.rows, worker.fetched);
  }
  return absl::OkStatus();
}

Status Trainer::EvaluateJoined(Dataset& dataset) {
  std::vector<Step*> steps;
  for (Worker& worker : workers_) steps.push_back(worker.evaluate.get());
  std::vector<StageTimes> times(workers_.size());
  Worker& first = workers_[0];
  while (true) {
    FL_ASSIGN_OR_RETURN(const bool more, Read(first, 0, dataset, {}, &first.batch));
    if (!more) return absl::OkStatus();
    FL_RETURN_IF_ERROR(evaluate_round_->Compute(first.batch, pool_, steps, times).status());
    CountEvaluated(0, first.batch.rows, evaluate_round_->fetched());
  }
}

Status Trainer::EvaluateRounds(Dataset& dataset) {
  WorkerRound& round = *evaluate_parts_;
  FL_RETURN_IF_ERROR(round.Read(dataset));
  while (round.batches() > 0) {
    FL_RETURN_IF_ERROR(round.Predict());
    for (int w = 0; w < round.batches(); ++w) {
      CollectFetched(workers_[w], *workers_[w].evaluate);
      CountEvaluated(w, round.rows(w), workers_[w].fetched);
    }
    FL_RETURN_IF_ERROR(round.Read(dataset));
  }
  return absl::OkStatus();
}

// The last of the fetched values is the loss.
void Trainer::CountEvaluated(int w, int64_t rows, std::span<const FetchedValue> fetched) {
  Count(w, rows, fetched.back().values[0], fetched.first(fetched.size() - 1));
}

}  // namespace flotilla
