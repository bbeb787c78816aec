// A trainer runs epochs of a dataset through the workers of this process: reads batches, runs the
// train step, watches the metrics. The communicator decides where parameters live and how workers
// meet (Schedule); the loop is that of round_loop.h, and its rounds are of these kinds:
//
//   free            every worker runs rounds of one batch by itself (Hogwild in local mode)
//   joined          one loop for all workers, a batch each (worker_round.h)
//   sharing a batch the same with one batch (joined_round.h): same seed, same bits, for any number
//                   of workers
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/status.h"
#include "flotilla/base/worker_pool.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/dataset/dataset.h"
#include "flotilla/graph/plan.h"
#include "flotilla/graph/step.h"
#include "flotilla/metric/metric_set.h"
#include "flotilla/metric/worker_metrics.h"
#include "flotilla/trainer/graph_part.h"
#include "flotilla/trainer/model.h"
#include "flotilla/trainer/report.h"
#include "flotilla/trainer/round_loop.h"

namespace flotilla {

struct TrainerOptions {
  int workers = 1;
  uint64_t seed = 0;
  // Where workers share a batch: rows of a chunk (joined_round.h). Part of what makes a run repeat:
  // another number, other bits.
  int64_t chunk_rows = 256;
  // Called after every progress_batches batches, by one worker at a time, while training goes on.
  // Progress has no metrics in it, which cost more than a batch may: AddMetrics gives them.
  std::function<void(const Progress&)> on_progress;
  int64_t progress_batches = 100;

  // Values of the graph that on_fetch is given, beside those that metrics read; called after every
  // fetch_batches batches by one worker at a time, with the values of its batch.
  std::vector<int> fetches;
  std::function<void(int64_t batch, std::span<const FetchedValue> values)> on_fetch;
  int64_t fetch_batches = 100;

  // Asked after every batch, by any worker: whether at_pause is to be called as soon as every
  // worker stands between two batches. at_pause is where a save begins: nothing is pushed or read
  // meanwhile, so parameters and the dataset's position fit each other. Its error ends the epoch.
  std::function<bool()> want_pause;
  std::function<Status()> at_pause;

  // Asked after every batch, by any worker. Once true, every worker ends after the batch it is in
  // (Report::stopped). So that a worker that waits for its next batch ends too, what sets it must
  // interrupt the dataset, whose error is then Cancelled: no error of an epoch that is stopped.
  std::function<bool()> stop;
};

// Not thread-safe; one call at a time.
class Trainer {
 public:
  // Errors: the graph's own, a loss that cannot be trained, a metric that is not known, options
  // that make no sense. REQUIRES: model, communicator and clock outlive the trainer; the
  // communicator was made from SpecOf(*model, ..).
  static StatusOr<std::unique_ptr<Trainer>> Make(const Model* model, Communicator* communicator,
                                                 const Clock* clock, TrainerOptions options);

  // Trains on one epoch. The first error of any worker ends the epoch and is returned; what was
  // pushed before stays applied.
  StatusOr<Report> TrainEpoch(Dataset& dataset, int64_t epoch);
  // Trains so many epochs, from 0 on, and returns the loss per row of each.
  StatusOr<std::vector<double>> Fit(Dataset& dataset, int64_t epochs);
  // Trains on what is left of an epoch from a position of the dataset on. The report is of that
  // part.
  StatusOr<Report> ResumeEpoch(Dataset& dataset, const DatasetPosition& position);

  // Forward only, in inference mode, over one pass of the dataset; no parameter changes and no row
  // is made. Metrics start at zero; where workers share a batch they too do not depend on their
  // number.
  StatusOr<Report> Evaluate(Dataset& dataset);

  // Sets auc and auc_window of a Progress to what the workers have counted so far in the epoch
  // under way. Thread-safe.
  void AddMetrics(Progress* progress) const;
  // What all workers have counted so far. Thread-safe.
  MetricSet MergedMetrics() const;

 private:
  // What was counted of one worker.
  struct Worker {
    StageTimes times;
    int64_t rows = 0;
    int64_t batches = 0;
    double loss = 0;  // summed over rows
  };

  Trainer(const Model* model, Communicator* communicator, const Clock* clock,
          TrainerOptions options);
  Status Init();

  // The rounds of all loops.
  std::vector<RoundLoop::Rounds> MakeRounds(const GraphParts& parts, const RoundLoop& loop);
  std::unique_ptr<Round> MakeRound(const GraphParts& parts, int worker);
  RoundLoopOptions TrainLoopOptions();
  RoundLoopOptions EvaluateLoopOptions();

  StatusOr<Report> TrainStarted(Dataset& started, int64_t epoch);
  void TakeTimes(std::span<const RoundLoop::Rounds> rounds);

  void StartRun();
  Report FinishRun(const Dataset& dataset);
  void Count(int worker, const BatchResult& result);
  void TellProgress(int64_t rows, double loss);
  // Hands the extra values of a batch to on_fetch if it is their turn. The extra values are the
  // last of `fetched`.
  void TellFetched(std::span<const FetchedValue> fetched);
  bool StopWanted() const { return options_.stop && options_.stop(); }
  // A batch's loss as a sum over its rows.
  double RowLoss(double loss, int64_t rows) const { return loss_is_mean_ ? loss * rows : loss; }

  // Constant after Init.
  const Model* const model_;
  Communicator* const communicator_;
  const Clock* const clock_;
  const TrainerOptions options_;
  std::unique_ptr<Plan> train_plan_;
  std::unique_ptr<Plan> evaluate_plan_;  // forward only; its last fetch is the loss
  bool loss_is_mean_ = false;

  WorkerPool pool_;
  Dataset* source_ = nullptr;  // where rounds read
  RoundLoop train_loop_, evaluate_loop_;
  std::vector<RoundLoop::Rounds> train_, evaluate_;  // by loop
  std::vector<Worker> workers_;
  std::unique_ptr<WorkerMetrics> metrics_;
  std::atomic<int64_t> fetch_count_ = 0;  // batches of the epoch, counted for on_fetch
  int64_t start_nanos_ = 0;
  int64_t epoch_ = 0;  // under way

  std::mutex mutex_;
  int64_t progress_rows_ = 0;     // guarded by mutex_
  int64_t progress_batches_ = 0;  // guarded by mutex_
};

}  // namespace flotilla
