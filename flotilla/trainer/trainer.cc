#include "flotilla/trainer/trainer.h"

#include <algorithm>
#include <utility>

#include "flotilla/kernels/denormals.h"
#include "flotilla/trainer/first_batch_dataset.h"
#include "flotilla/trainer/joined_round.h"
#include "flotilla/trainer/worker_round.h"

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
  FL_ASSIGN_OR_RETURN(metrics_, WorkerMetrics::Make(model_->metrics, options_.workers));
  schedule_ = communicator_->schedule();
  workers_.resize(static_cast<size_t>(options_.workers));
  const int loops = schedule_.joined ? 1 : options_.workers;
  for (int l = 0; l < loops; ++l) loops_.push_back(MakeLoop(l));
  return absl::OkStatus();
}

Trainer::Loop Trainer::MakeLoop(int worker) {
  RoundParts parts{.plan = train_plan_.get(),
                   .step = {.seed = options_.seed, .trainer = communicator_->trainer()},
                   .communicator = communicator_,
                   .clock = clock_,
                   .stop = options_.stop};
  Loop loop;
  const size_t lanes = schedule_.ahead == Schedule::Ahead::kPull ? 2 : 1;
  while (loop.train.size() < lanes) loop.train.push_back(MakeRound(parts, worker));
  parts.plan = evaluate_plan_.get();
  parts.step = {.seed = options_.seed, .training = false};
  parts.stop = {};
  loop.evaluate = MakeRound(parts, worker);
  return loop;
}

std::unique_ptr<Round> Trainer::MakeRound(const RoundParts& parts, int worker) {
  if (!schedule_.joined) return std::make_unique<WorkerRound>(parts, worker);
  if (!schedule_.shares_batch) return std::make_unique<WorkerRound>(parts, &pool_);
  return std::make_unique<JoinedRound>(parts, options_.chunk_rows, &pool_);
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
  pause_.Start(static_cast<int>(loops_.size()));
  FL_RETURN_IF_ERROR(RunLoops([&](size_t l) {
    Status status = TrainRounds(l, dataset, epoch);
    Status paused = pause_.Leave(options_.at_pause);
    return status.ok() ? paused : status;
  }));
  FL_RETURN_IF_ERROR(communicator_->Flush());
  Report report = FinishRun(dataset);
  report.stopped = StopWanted();
  return report;
}

Status Trainer::TrainRounds(size_t l, Dataset& dataset, int64_t epoch) {
  using Ahead = Schedule::Ahead;
  const Ahead ahead = schedule_.ahead;
  Round* now = loops_[l].train.front().get();
  Round* next = loops_[l].train.back().get();  // the same, unless two are under way at a time
  for (Round* round : {now, next}) round->Clear();
  while (!failed_.load(std::memory_order_relaxed)) {
    if (now->batches() == 0) {
      FL_RETURN_IF_ERROR(now->Read(dataset));
      if (now->batches() == 0) break;
      if (ahead == Ahead::kPull) FL_RETURN_IF_ERROR(now->StartPulls());
    }
    if (ahead == Ahead::kPull && MayReadAhead()) {
      FL_RETURN_IF_ERROR(next->Read(dataset));
      FL_RETURN_IF_ERROR(next->StartPulls());
    }
    FL_ASSIGN_OR_RETURN(Gradients* const gradients, now->Compute());
    Lane& lane = now->lane(0);
    FL_ASSIGN_OR_RETURN(Pending push,
                        StartPush(*gradients, static_cast<int>(now->results().size()), lane));
    for (size_t i = 0; i < now->results().size(); ++i) {
      Count(l + i, now->results()[i]);
      TellFetched(now->results()[i].fetched);
    }
    if (ahead != Ahead::kNothing) AskForPause();
    if ((ahead == Ahead::kRead || ahead == Ahead::kPullBehindPush) && MayReadAhead()) {
      FL_RETURN_IF_ERROR(next->Read(dataset));
      if (ahead == Ahead::kPullBehindPush) FL_RETURN_IF_ERROR(next->StartPulls());
    }
    const int64_t ready = clock_->NowNanos();
    FL_RETURN_IF_ERROR(push.Wait());
    lane.times.push += clock_->NowNanos() - ready;
    for (const BatchResult& result : now->results()) TellProgress(epoch, result.rows, result.loss);
    std::swap(now, next);
    if (now->batches() > 0) continue;
    FL_ASSIGN_OR_RETURN(const bool go_on, BetweenBatches());
    if (!go_on) break;
  }
  for (const auto& round : loops_[l].train) TakeTimes(l, *round);
  return absl::OkStatus();
}

void Trainer::TakeTimes(size_t l, Round& round) {
  for (int i = 0; i < round.lanes(); ++i) {
    workers_[l + static_cast<size_t>(i)].times.Add(std::exchange(round.lane(i).times, {}));
  }
}

StatusOr<Report> Trainer::Evaluate(Dataset& dataset) {
  StartRun();
  FL_RETURN_IF_ERROR(dataset.StartEpoch(0));
  FL_RETURN_IF_ERROR(RunLoops([&](size_t l) { return EvaluateRounds(l, dataset); }));
  return FinishRun(dataset);
}

Status Trainer::EvaluateRounds(size_t l, Dataset& dataset) {
  Round& round = *loops_[l].evaluate;
  while (!failed_.load(std::memory_order_relaxed)) {
    FL_RETURN_IF_ERROR(round.Read(dataset));
    if (round.batches() == 0) break;
    FL_RETURN_IF_ERROR(round.Predict());
    for (size_t i = 0; i < round.results().size(); ++i) {
      BatchResult result = round.results()[i];
      result.loss = result.fetched.back().values[0];
      Count(l + i, result);
    }
  }
  TakeTimes(l, round);
  return absl::OkStatus();
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
  std::ranges::fill(workers_, Worker());
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

Status Trainer::RunLoops(const std::function<Status(size_t l)>& work) {
  const auto run = [&](int l) {
    const kernels::FlushDenormals flush;
    Status status = work(static_cast<size_t>(l));
    if (status.ok()) return;
    std::lock_guard lock(mutex_);
    if (first_error_.ok()) first_error_ = std::move(status);
    failed_ = true;
  };
  // The workers of a joined round are the pool's, whose Run a round calls itself.
  if (schedule_.joined) {
    run(0);
  } else {
    pool_.Run(run);
  }
  return first_error_;
}

// Metrics read the first of the fetched values.
void Trainer::Count(size_t worker, const BatchResult& result) {
  Worker& counted = workers_[worker];
  counted.rows += result.rows;
  ++counted.batches;
  counted.loss += RowLoss(result.loss, result.rows);
  metrics_->Add(static_cast<int>(worker), result.rows, result.fetched);
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
