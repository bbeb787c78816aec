#include "flotilla/trainer/trainer.h"

#include <utility>

#include "flotilla/kernels/denormals.h"
#include "flotilla/trainer/first_batch_dataset.h"

namespace flotilla {

StatusOr<std::unique_ptr<Trainer>> Trainer::Make(const Model* model, Communicator* communicator,
                                                 const Clock* clock, TrainerOptions options) {
  if (options.workers < 1) return InvalidArgument("workers is {}, must be >= 1", options.workers);
  if (options.chunk_rows < 1 || options.progress_batches < 1 || options.fetch_batches < 1) {
    return InvalidArgument(
        "chunk_rows is {}, progress_batches {} and fetch_batches {}: all must be >= 1",
        options.chunk_rows, options.progress_batches, options.fetch_batches);
  }
  std::unique_ptr<Trainer> trainer(new Trainer(model, communicator, clock, std::move(options)));
  FL_RETURN_IF_ERROR(trainer->Init());
  return trainer;
}

Trainer::Trainer(const Model* model, Communicator* communicator, const Clock* clock,
                 TrainerOptions options)
    : model_(model),
      communicator_(communicator),
      clock_(clock),
      options_(std::move(options)),
      pool_(options_.workers) {}

Status Trainer::Init() {
  const GraphDef& graph = model_->graph.def();
  FL_RETURN_IF_ERROR(graph.status);
  if (!model_->loss.valid() || model_->loss.graph() != &graph) {
    return InvalidArgument("the model's loss is not a value of its graph");
  }
  const int loss = model_->loss.index();
  std::vector<int> fetches = MetricSet::Fetches(model_->metrics);
  std::vector<int> train_fetches = fetches;
  for (const int var : options_.fetches) train_fetches.push_back(var);
  FL_ASSIGN_OR_RETURN(train_plan_, Plan::Make(graph, {.loss = loss, .fetches = train_fetches}));
  loss_is_mean_ = !train_plan_->grows_with_rows(loss);
  fetches.push_back(loss);
  FL_ASSIGN_OR_RETURN(evaluate_plan_, Plan::Make(graph, {.loss = -1, .fetches = fetches}));
  for (int w = 0; w < options_.workers; ++w) {
    Worker worker;
    const StepOptions step_options{.seed = options_.seed, .trainer = communicator_->trainer()};
    if (communicator_->prefetches()) {
      for (Lane& lane : worker.lanes) {
        lane.step = std::make_unique<Step>(train_plan_.get(), step_options);
      }
    } else {
      worker.train = std::make_unique<Step>(train_plan_.get(), step_options);
    }
    worker.evaluate = std::make_unique<Step>(evaluate_plan_.get(),
                                             StepOptions{.seed = options_.seed, .training = false});
    workers_.push_back(std::move(worker));
  }
  FL_ASSIGN_OR_RETURN(metrics_, WorkerMetrics::Make(model_->metrics, options_.workers));
  if (communicator_->round_push() != nullptr) {
    std::vector<Step*> train, evaluate;
    for (const Worker& worker : workers_) {
      train.push_back(worker.train.get());
      evaluate.push_back(worker.evaluate.get());
    }
    train_parts_ =
        std::make_unique<WorkerRound>(train, communicator_, clock_, &pool_, options_.stop);
    evaluate_parts_ = std::make_unique<WorkerRound>(evaluate, communicator_, clock_, &pool_);
  } else if (communicator_->workers() == WorkerSchedule::kJoined) {
    train_round_ = std::make_unique<JoinedRound>(train_plan_.get(), options_.chunk_rows,
                                                 communicator_, clock_);
    evaluate_round_ = std::make_unique<JoinedRound>(evaluate_plan_.get(), options_.chunk_rows,
                                                    communicator_, clock_);
  }
  return absl::OkStatus();
}

StatusOr<Report> Trainer::TrainEpoch(Dataset& dataset, int64_t epoch) {
  StartRun();
  FL_RETURN_IF_ERROR(dataset.StartEpoch(epoch));
  return TrainStarted(dataset, epoch);
}

StatusOr<std::vector<double>> Trainer::Fit(Dataset& dataset, int64_t epochs) {
  std::vector<double> losses;
  for (int64_t epoch = 0; epoch < epochs; ++epoch) {
    FL_ASSIGN_OR_RETURN(const Report report, TrainEpoch(dataset, epoch));
    losses.push_back(report.loss);
  }
  return losses;
}

StatusOr<Report> Trainer::ResumeEpoch(Dataset& dataset, const DatasetPosition& position) {
  StartRun();
  FL_RETURN_IF_ERROR(dataset.Resume(position));
  return TrainStarted(dataset, position.epoch);
}

StatusOr<Report> Trainer::TrainStarted(Dataset& started, int64_t epoch) {
  FirstBatchDataset dataset(&started);
  const int64_t start = clock_->NowNanos();
  FL_ASSIGN_OR_RETURN(const bool any, dataset.ReadFirst(options_.stop));
  workers_[0].times.read += clock_->NowNanos() - start;
  FL_RETURN_IF_ERROR(
      communicator_->BeginEpoch({.has_batch = any, .batches = dataset.epoch_batches()}));
  if (communicator_->workers() == WorkerSchedule::kJoined) {
    pause_.Start(1);
    FL_RETURN_IF_ERROR(train_parts_ != nullptr ? TrainRounds(dataset, epoch)
                                               : TrainJoined(dataset, epoch));
  } else {
    pause_.Start(options_.workers);
    FL_RETURN_IF_ERROR(RunWorkers([&](int w) {
      Status status = communicator_->prefetches() ? TrainAhead(w, dataset, epoch)
                                                  : TrainFree(w, dataset, epoch);
      Status paused = pause_.Leave(options_.at_pause);
      return status.ok() ? paused : status;
    }));
  }
  FL_RETURN_IF_ERROR(communicator_->Flush());
  Report report = FinishRun(dataset);
  report.stopped = StopWanted();
  return report;
}

Status Trainer::TrainFree(int w, Dataset& dataset, int64_t epoch) {
  Worker& worker = workers_[w];
  while (!failed_.load(std::memory_order_relaxed)) {
    FL_ASSIGN_OR_RETURN(const bool more, Read(worker, w, dataset, options_.stop, &worker.batch));
    if (!more) return absl::OkStatus();
    const BatchSlice slice(worker.batch);
    FL_RETURN_IF_ERROR(ComputeGradients(w, slice, *worker.train, *communicator_, *clock_,
                                        worker.gradients, worker.times));
    FL_RETURN_IF_ERROR(FinishStep(w, epoch, *worker.train));
    FL_ASSIGN_OR_RETURN(const bool go_on, BetweenBatches());
    if (!go_on) break;
  }
  return absl::OkStatus();
}

Status Trainer::TrainAhead(int w, Dataset& dataset, int64_t epoch) {
  Lane* now = &workers_[w].lanes[0];
  Lane* next = &workers_[w].lanes[1];
  now->pull = nullptr;
  next->pull = nullptr;
  while (!failed_.load(std::memory_order_relaxed)) {
    if (now->pull == nullptr) {
      FL_RETURN_IF_ERROR(StartLane(w, dataset, *now));
      if (now->pull == nullptr) break;
    }
    // What was read is trained before a pause or a stop, so nothing is read ahead of one.
    if (!pause_.requested() && !StopWanted()) FL_RETURN_IF_ERROR(StartLane(w, dataset, *next));
    FL_RETURN_IF_ERROR(FinishLane(w, epoch, *now));
    std::swap(now, next);
    if (now->pull != nullptr) {
      AskForPause();
      continue;
    }
    FL_ASSIGN_OR_RETURN(const bool go_on, BetweenBatches());
    if (!go_on) break;
  }
  return absl::OkStatus();
}

Status Trainer::StartLane(int w, Dataset& dataset, Lane& lane) {
  Worker& worker = workers_[w];
  FL_ASSIGN_OR_RETURN(const bool more, Read(worker, w, dataset, options_.stop, &lane.batch));
  if (!more) return absl::OkStatus();
  FL_ASSIGN_OR_RETURN(lane.pull, StartGradients(w, BatchSlice(lane.batch), *lane.step,
                                                *communicator_, *clock_, worker.times));
  return absl::OkStatus();
}

Status Trainer::FinishLane(int w, int64_t epoch, Lane& lane) {
  Worker& worker = workers_[w];
  const std::unique_ptr<PendingCall> pull = std::move(lane.pull);
  FL_RETURN_IF_ERROR(
      FinishGradients(*pull, *lane.step, *communicator_, *clock_, worker.gradients, worker.times));
  return FinishStep(w, epoch, *lane.step);
}

Status Trainer::FinishStep(int w, int64_t epoch, const Step& step) {
  Worker& worker = workers_[w];
  // Push may take the gradients' buffers.
  const int64_t rows = worker.gradients.rows;
  const double loss = worker.gradients.loss;
  FL_RETURN_IF_ERROR(ApplyGradients(w, *communicator_, *clock_, worker.gradients, worker.times));
  CollectFetched(worker, step);
  Count(w, rows, loss, worker.fetched);
  TellProgress(epoch, rows, loss);
  TellFetched(worker.fetched);
  return absl::OkStatus();
}

Status Trainer::TrainJoined(Dataset& dataset, int64_t epoch) {
  std::vector<Step*> steps;
  for (Worker& worker : workers_) steps.push_back(worker.train.get());
  std::vector<StageTimes> times(workers_.size());
  Worker& first = workers_[0];
  const kernels::FlushDenormals flush;
  while (true) {
    FL_ASSIGN_OR_RETURN(const bool more, Read(first, 0, dataset, options_.stop, &first.batch));
    if (!more) break;
    FL_ASSIGN_OR_RETURN(Gradients* const gradients,
                        train_round_->Compute(first.batch, pool_, steps, times));
    const int64_t rows = gradients->rows;
    const double loss = gradients->loss;
    FL_RETURN_IF_ERROR(ApplyGradients(0, *communicator_, *clock_, *gradients, times[0]));
    Count(0, rows, loss, train_round_->fetched());
    TellProgress(epoch, rows, loss);
    TellFetched(train_round_->fetched());
    FL_ASSIGN_OR_RETURN(const bool go_on, BetweenBatches());
    if (!go_on) break;
  }
  for (size_t w = 0; w < workers_.size(); ++w) workers_[w].times.Add(times[w]);
  return absl::OkStatus();
}

Status Trainer::TrainRounds(Dataset& dataset, int64_t epoch) {
  WorkerRound& round = *train_parts_;
  FL_RETURN_IF_ERROR(round.Read(dataset));
  while (round.batches() > 0) {
    FL_ASSIGN_OR_RETURN(Gradients* const mean, round.Compute());
    const int64_t start = clock_->NowNanos();
    FL_ASSIGN_OR_RETURN(
        const std::unique_ptr<PendingCall> push,
        StartApplying(*communicator_, *communicator_->round_push(), *mean, round.batches()));
    const int64_t sent = clock_->NowNanos();
    CountRound();
    AskForPause();
    // What was read is trained before a pause or a stop, so nothing is read ahead of one.
    const bool ahead = !pause_.requested() && !StopWanted();
    if (ahead) FL_RETURN_IF_ERROR(round.Read(dataset));
    if (ahead && communicator_->round_push()->pulls_behind_push()) {
      FL_RETURN_IF_ERROR(round.StartPulls());
    }
    const int64_t ready = clock_->NowNanos();
    FL_RETURN_IF_ERROR(push->Wait());
    workers_[0].times.push += (sent - start) + (clock_->NowNanos() - ready);
    for (const auto& [rows, loss] : round.results()) TellProgress(epoch, rows, loss);
    if (ahead) continue;
    FL_ASSIGN_OR_RETURN(const bool go_on, BetweenBatches());
    if (!go_on) break;
    FL_RETURN_IF_ERROR(round.Read(dataset));
  }
  for (int w = 0; w < options_.workers; ++w) workers_[w].times.Add(round.TakeTimes(w));
  return absl::OkStatus();
}

void Trainer::CountRound() {
  const std::span<const WorkerRound::Result> results = train_parts_->results();
  for (size_t w = 0; w < results.size(); ++w) {
    CollectFetched(workers_[w], *workers_[w].train);
    Count(static_cast<int>(w), results[w].rows, results[w].loss, workers_[w].fetched);
    TellFetched(workers_[w].fetched);
  }
}

void Trainer::AskForPause() {
  if (options_.want_pause && options_.want_pause()) pause_.Request();
}

StatusOr<bool> Trainer::BetweenBatches() {
  AskForPause();
  FL_RETURN_IF_ERROR(pause_.Arrive(options_.at_pause));
  return !StopWanted();
}

void Trainer::TellFetched(std::span<const FetchedValue> fetched) {
  if (!options_.on_fetch) return;
  const int64_t batch = fetch_count_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (batch % options_.fetch_batches != 0) return;
  std::lock_guard lock(mutex_);
  options_.on_fetch(batch, fetched.last(options_.fetches.size()));
}

void Trainer::StartRun() {
  failed_ = false;
  fetch_count_ = 0;
  first_error_ = absl::OkStatus();
  progress_rows_ = progress_batches_ = 0;
  for (Worker& worker : workers_) {
    worker.times = {};
    worker.rows = worker.batches = 0;
    worker.loss = 0;
  }
  metrics_->Reset();
  start_nanos_ = clock_->NowNanos();
}

Report Trainer::FinishRun(const Dataset& dataset) {
  Report report;
  report.seconds = static_cast<double>(clock_->NowNanos() - start_nanos_) * 1e-9;
  report.step = communicator_->global_step();
  DatasetCounts counts = dataset.counts();
  report.skipped = counts.skipped;
  report.dropped = counts.dropped;
  report.bad_rows = std::move(counts.samples);
  for (const Worker& worker : workers_) {
    report.rows += worker.rows;
    report.batches += worker.batches;
    report.loss += worker.loss;
    report.times.Add(worker.times);
  }
  if (report.rows > 0) report.loss /= static_cast<double>(report.rows);
  const MetricSet merged = MergedMetrics();
  report.metrics = merged.Values();
  report.metric_state = merged.State();
  report.hints = merged.Hints();
  return report;
}

MetricSet Trainer::MergedMetrics() const {
  MetricSet merged = *MetricSet::Make(model_->metrics);  // Init has made one from the same specs
  metrics_->MergeTo(&merged);
  return merged;
}

void Trainer::AddMetrics(Progress* progress) const {
  const MetricSet merged = MergedMetrics();
  for (const auto& [name, value] : merged.Values()) {
    if (name == "auc") progress->auc = value;
  }
  for (const auto& [name, value] : merged.WindowValues()) {
    if (name == "auc") progress->auc_window = value;
  }
}

Status Trainer::RunWorkers(const std::function<Status(int)>& work) {
  pool_.Run([&](int w) {
    const kernels::FlushDenormals flush;
    Status status = work(w);
    if (status.ok()) return;
    std::lock_guard lock(mutex_);
    if (first_error_.ok()) first_error_ = std::move(status);
    failed_ = true;
  });
  return first_error_;
}

StatusOr<bool> Trainer::Read(Worker& worker, int w, Dataset& dataset,
                             const std::function<bool()>& stop, Batch* batch) {
  const int64_t start = clock_->NowNanos();
  StatusOr<bool> more = NextUnlessStopped(dataset, w, stop, batch);
  worker.times.read += clock_->NowNanos() - start;
  return more;
}

void Trainer::CollectFetched(Worker& worker, const Step& step) {
  const bool evaluating = &step == worker.evaluate.get();
  const Plan& plan = evaluating ? *evaluate_plan_ : *train_plan_;
  worker.fetched.clear();
  for (size_t k = 0; k < plan.options().fetches.size(); ++k) {
    worker.fetched.push_back(step.fetched(static_cast<int>(k)));
  }
}

void Trainer::Count(int w, int64_t rows, double loss, std::span<const FetchedValue> fetched) {
  Worker& worker = workers_[w];
  worker.rows += rows;
  ++worker.batches;
  worker.loss += RowLoss(loss, rows);
  metrics_->Add(w, rows, fetched);
}

void Trainer::TellProgress(int64_t epoch, int64_t rows, double loss) {
  if (!options_.on_progress) return;
  std::lock_guard lock(mutex_);
  progress_rows_ += rows;
  if (++progress_batches_ % options_.progress_batches != 0) return;
  options_.on_progress({.epoch = epoch,
                        .step = communicator_->global_step(),
                        .batches = progress_batches_,
                        .rows = progress_rows_,
                        .loss = RowLoss(loss, rows) / static_cast<double>(rows),
                        .learning_rate = communicator_->learning_rate(),
                        .seconds = static_cast<double>(clock_->NowNanos() - start_nanos_) * 1e-9});
}

}  // namespace flotilla
