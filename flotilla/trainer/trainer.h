// A trainer runs epochs of a dataset through the workers of this process: reads batches, runs the
// train step, updates the metrics. The communicator decides where parameters live and how workers
// synchronize (Schedule); the loop is that of round_loop.h, with these kinds of rounds:
//
//   free            every worker runs its own rounds of one batch (Hogwild in local mode)
//   joined          one loop for all workers, a batch each (worker_round.h)
//   sharing a batch the same with one batch (joined_round.h): same seed, same bits, for any number
//                   of workers
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/mutex.h"
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
  // Rows per chunk if workers share a batch (joined_round.h). Reproducible results need the same
  // number: another number gives other bits.
  int64_t chunk_rows = 256;
  // Called after every progress_batches batches, by one worker at a time, while training continues.
  // Progress does not include metrics, which may cost more than a batch: AddMetrics adds them.
  std::function<void(const Progress&)> on_progress;
  int64_t progress_batches = 100;

  // Values of the graph for on_fetch, in addition to those that metrics read; on_fetch is called
  // after every fetch_batches batches by one worker at a time, with the values of its batch.
  std::vector<int> fetches;
  std::function<void(int64_t batch, std::span<const FetchedValue> values)> on_fetch;
  int64_t fetch_batches = 100;

  // The number of bad batches (bad_batch.h) per epoch that are left out and counted; one more ends
  // the epoch with its cause. on_bad_batch is called for each that is left out, by one worker at a
  // time, with its number in the epoch, from 1, and the cause with the place of the rows.
  int64_t max_bad_batches = 0;
  std::function<void(int64_t number, const std::string& text)> on_bad_batch;

  // Called after every batch, by any worker. If it returns true, at_pause is called as soon as
  // every worker is between two batches. at_pause is where a save begins: nothing is pushed or read
  // meanwhile, so parameters and the dataset's position match. Its error ends the epoch.
  std::function<bool()> want_pause;
  std::function<Status()> at_pause;

  // Called after every batch, by any worker. Once it returns true, every worker ends after its
  // current batch (Report::stopped). The code that sets it must also interrupt the dataset, so that
  // a worker that waits for its next batch ends too.
  std::function<bool()> stop;
  // Whether the process was told to stop. Called when a read was cancelled: true makes that the end
  // of the data instead of an error of the epoch. It ends an evaluation. Empty: `stop`.
  std::function<bool()> cancelled;
};

// Not thread-safe; one call at a time.
class Trainer {
 public:
  // Errors: those of the graph, a loss that cannot be trained, an unknown metric, invalid options.
  // REQUIRES: model, communicator and clock outlive the trainer; the communicator was made from
  // SpecOf(*model, ..).
  static StatusOr<std::unique_ptr<Trainer>> Make(const Model* model, Communicator* communicator,
                                                 const Clock* clock, TrainerOptions options);

  // Trains one epoch. The first error of any worker ends the epoch and is returned; earlier pushes
  // stay applied.
  StatusOr<Report> TrainEpoch(Dataset& dataset, int64_t epoch);
  // Trains `epochs` epochs, starting at 0, and returns the loss per row of each.
  StatusOr<std::vector<double>> Fit(Dataset& dataset, int64_t epochs);
  // Trains the rest of an epoch from a position of the dataset. `before` is what SoFar returned at
  // that position, and the report covers both parts; if it is empty, only this part. An error if
  // its metrics are not those of the model.
  StatusOr<Report> ResumeEpoch(Dataset& dataset, const DatasetPosition& position,
                               const Report& before = {});
  // The report of the epoch so far, without the counts of the dataset. In a pause (at_pause), or
  // after the epoch.
  Report SoFar() const;

  // Evaluates one pass of the dataset: forward only, in inference mode; no parameter changes and no
  // row is created. Metrics start at zero; if workers share a batch, metrics do not depend on the
  // number of workers either. If `predictions` is not null, it receives the model's prediction for
  // every row, (rows, columns), in the order of the batches' ordinals. Cancelled if
  // TrainerOptions::cancelled is true before its end. REQUIRES: predictions is null, or
  // model.predict is set.
  StatusOr<Report> Evaluate(Dataset& dataset, std::vector<float>* predictions = nullptr);

  // Sets the metrics of a Progress from the counts of the workers in the current epoch so far.
  // Thread-safe.
  void AddMetrics(Progress* progress) const;
  // The metrics of all workers so far. Thread-safe.
  MetricSet MergedMetrics() const;

 private:
  // The counts of one worker.
  struct Worker {
    StageTimes times;
    int64_t rows = 0;
    int64_t batches = 0;
    double loss = 0;    // summed over rows
    double weight = 0;  // the sum of sample weights, if the model has them
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

  Status StartRun(const Report& before = {});
  Report FinishRun(const Dataset& dataset);
  // Seconds of the epoch so far.
  double Seconds() const;
  void Count(int worker, const BatchResult& result);
  // Leaves a bad batch out of the epoch; an error if there were too many.
  Status DropBatch(const Batch& batch, const Status& cause);
  void TellProgress(const BatchResult& result);
  // Passes the extra values of a batch to on_fetch if a call is due. The extra values are the last
  // of `fetched`.
  void TellFetched(std::span<const FetchedValue> fetched);
  void KeepPredictions(const BatchResult& result);
  bool StopWanted() const { return options_.stop && options_.stop(); }
  const std::function<bool()>& Cancelled() const {
    return options_.cancelled ? options_.cancelled : options_.stop;
  }
  // The sum of the sample weights of a batch; without weights, the number of its rows.
  double WeightOf(const BatchResult& result) const;
  // A batch's loss as a sum over its rows.
  double RowLoss(double loss, int64_t rows) const { return loss_is_mean_ ? loss * rows : loss; }

  // Constant after Init.
  const Model* const model_;
  Communicator* const communicator_;
  const Clock* const clock_;
  const TrainerOptions options_;
  const std::vector<MetricSpec> metric_specs_;
  std::unique_ptr<Plan> train_plan_;
  std::unique_ptr<Plan> evaluate_plan_;  // forward only; its last fetch is the loss
  bool loss_is_mean_ = false;
  int predict_fetch_ = -1;  // index of model.predict in the fetches of evaluate_plan_; -1: not set
  int weight_fetch_ = -1;   // index of the sample weights in the fetches of both plans; -1: none

  WorkerPool pool_;
  Dataset* source_ = nullptr;  // where rounds read
  RoundLoop train_loop_, evaluate_loop_;
  std::vector<RoundLoop::Rounds> train_, evaluate_;  // by loop
  std::vector<Worker> workers_;
  std::unique_ptr<WorkerMetrics> metrics_;
  std::atomic<int64_t> fetch_count_ = 0;  // batches of the epoch, counted for on_fetch
  int64_t start_nanos_ = 0;
  int64_t epoch_ = 0;                          // the current epoch
  Report before_;                              // of its part before this run
  std::unique_ptr<MetricSet> before_metrics_;  // null: none

  mutable Mutex mutex_;
  int64_t progress_rows_ FL_GUARDED_BY(mutex_) = 0;
  int64_t progress_batches_ FL_GUARDED_BY(mutex_) = 0;
  // Of the epoch, with the part before this run.
  int64_t bad_batches_ FL_GUARDED_BY(mutex_) = 0;
  int64_t limited_bad_batches_ FL_GUARDED_BY(mutex_) = 0;  // Report::limited_bad_batches
  int64_t bad_batch_rows_ FL_GUARDED_BY(mutex_) = 0;
  std::vector<std::string> bad_batch_texts_ FL_GUARDED_BY(mutex_);
  // The predictions of an evaluation, by the ordinal of the batch.
  std::map<int64_t, std::vector<float>> predictions_ FL_GUARDED_BY(mutex_);
  bool keep_predictions_ = false;
};

}  // namespace flotilla
