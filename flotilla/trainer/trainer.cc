#include "flotilla/trainer/trainer.h"

#include <algorithm>
#include <utility>

#include "flotilla/trainer/bad_batch.h"
#include "flotilla/trainer/first_batch_dataset.h"
#include "flotilla/trainer/joined_round.h"
#include "flotilla/trainer/worker_round.h"

namespace flotilla {
StatusOr<std::unique_ptr<Trainer>> Trainer::Make(const Model* model, Communicator* communicator,
                                                 const Clock* clock, TrainerOptions options) {
  if (options.workers < 1) return InvalidArgument("workers is {}, must be >= 1", options.workers);
  if (options.max_bad_batches < 0) {
    return InvalidArgument("max_bad_batches is {}, must be >= 0", options.max_bad_batches);
  }
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
      metric_specs_(MetricsOf(*model)),
      pool_(options_.workers),
      train_loop_(communicator, clock, &pool_, TrainLoopOptions()),
      evaluate_loop_(communicator, clock, &pool_, EvaluateLoopOptions()) {}

RoundLoopOptions Trainer::TrainLoopOptions() {
  RoundLoopOptions loop{
      .want_pause = options_.want_pause, .at_pause = options_.at_pause, .stop = options_.stop};
  loop.computed = [this](int first, const Round& round) {
    for (const BatchResult& result : round.results()) {
      const int worker = first++;
      if (result.dropped) continue;
      Count(worker, result);
      TellFetched(result.fetched);
    }
  };
  loop.pushed = [this](int, const Round& round) {
    for (const BatchResult& result : round.results()) {
      if (!result.dropped) TellProgress(result);
    }
  };
  return loop;
}

// The last of the fetched values is the loss.
RoundLoopOptions Trainer::EvaluateLoopOptions() {
  RoundLoopOptions loop{.stop = Cancelled()};
  loop.computed = [this](int first, const Round& round) {
    for (BatchResult result : round.results()) {
      result.loss = result.fetched.back().values[0];
      Count(first++, result);
      if (keep_predictions_) KeepPredictions(result);
    }
  };
  return loop;
}

Status Trainer::Init() {
  const GraphDef& graph = model_->graph.def();
  FL_RETURN_IF_ERROR(graph.status);
  if (!model_->loss.valid() || model_->loss.graph() != &graph) {
    return InvalidArgument("the model's loss is not a value of its graph");
  }
  FL_RETURN_IF_ERROR(CheckWeights(*model_));
  const int loss = model_->loss.index();
  std::vector<int> fetches = MetricSet::Fetches(metric_specs_);
  if (model_->weight.valid()) {
    weight_fetch_ = static_cast<int>(fetches.size());
    fetches.push_back(model_->weight.index());
  }
  std::vector<int> train_fetches = fetches;
  for (const int var : options_.fetches) train_fetches.push_back(var);
  FL_ASSIGN_OR_RETURN(train_plan_, Plan::Make(graph, {.loss = loss, .fetches = train_fetches}));
  loss_is_mean_ = !train_plan_->grows_with_rows(loss);
  if (model_->predict.valid()) {
    const auto known = std::find(fetches.begin(), fetches.end(), model_->predict.index());
    predict_fetch_ = static_cast<int>(known - fetches.begin());
    if (known == fetches.end()) fetches.push_back(model_->predict.index());
  }
  fetches.push_back(loss);
  FL_ASSIGN_OR_RETURN(evaluate_plan_, Plan::Make(graph, {.loss = -1, .fetches = fetches}));
  FL_ASSIGN_OR_RETURN(
      metrics_,
      WorkerMetrics::Make(metric_specs_, MetricSet::Fetches(metric_specs_), options_.workers));
  workers_.resize(static_cast<size_t>(options_.workers));
  GraphParts parts{.plan = train_plan_.get(),
                   .step = {.seed = options_.seed, .trainer = communicator_->trainer()},
                   .communicator = communicator_,
                   .clock = clock_,
                   .next =
                       [this](int reader, Batch* batch) {
                         return NextUnlessStopped(*source_, reader, Cancelled(), batch);
                       },
                   .on_bad_batch = [this](const Batch& batch,
                                          const Status& cause) { return DropBatch(batch, cause); }};
  train_ = MakeRounds(parts, train_loop_);
  parts.plan = evaluate_plan_.get();
  parts.step = {.seed = options_.seed, .training = false};
  parts.next = [this](int reader, Batch* batch) { return source_->Next(reader, batch); };
  evaluate_ = MakeRounds(parts, evaluate_loop_);
  return absl::OkStatus();
}

std::vector<RoundLoop::Rounds> Trainer::MakeRounds(const GraphParts& parts, const RoundLoop& loop) {
  std::vector<RoundLoop::Rounds> rounds(static_cast<size_t>(loop.loops()));
  for (int l = 0; l < loop.loops(); ++l) {
    for (int d = 0; d < loop.depth(); ++d) rounds[l].push_back(MakeRound(parts, l));
  }
  return rounds;
}

std::unique_ptr<Round> Trainer::MakeRound(const GraphParts& parts, int worker) {
  const Schedule schedule = communicator_->schedule();
  if (!schedule.joined) {
    return std::make_unique<WorkerRound>(std::make_unique<GraphPart>(parts, worker));
  }
  if (schedule.shares_batch) {
    return std::make_unique<JoinedRound>(parts, options_.chunk_rows, &pool_);
  }
  std::vector<std::unique_ptr<Part>> all;
  for (int w = 0; w < options_.workers; ++w) all.push_back(std::make_unique<GraphPart>(parts, w));
  return std::make_unique<WorkerRound>(std::move(all), RoundMerge::kMean, communicator_->spec(),
                                       &pool_, clock_);
}

StatusOr<Report> Trainer::TrainEpoch(Dataset& dataset, int64_t epoch) {
  FL_RETURN_IF_ERROR(StartRun());
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

StatusOr<Report> Trainer::ResumeEpoch(Dataset& dataset, const DatasetPosition& position,
                                      const Report& before) {
  FL_RETURN_IF_ERROR(StartRun(before));
  FL_RETURN_IF_ERROR(dataset.Resume(position));
  return TrainStarted(dataset, position.epoch);
}

StatusOr<Report> Trainer::TrainStarted(Dataset& started, int64_t epoch) {
  FirstBatchDataset dataset(&started);
  const int64_t start = clock_->NowNanos();
  FL_ASSIGN_OR_RETURN(const bool any, dataset.ReadFirst(Cancelled()));
  workers_[0].times.read += clock_->NowNanos() - start;
  FL_RETURN_IF_ERROR(
      communicator_->BeginEpoch({.has_batch = any, .batches = dataset.epoch_batches()}));
  epoch_ = epoch;
  source_ = &dataset;
  FL_RETURN_IF_ERROR(train_loop_.Run(train_));
  TakeTimes(train_);
  StopWanted();  // workers whose reads were cancelled have not asked; Flush may wait for the others
  FL_RETURN_IF_ERROR(communicator_->Flush());
  Report report = FinishRun(dataset);
  report.stopped = StopWanted();
  return report;
}

void Trainer::TakeTimes(std::span<const RoundLoop::Rounds> rounds) {
  for (size_t l = 0; l < rounds.size(); ++l) {
    for (const auto& round : rounds[l]) {
      for (int i = 0; i < round->lanes(); ++i) {
        workers_[l + static_cast<size_t>(i)].times.Add(std::exchange(round->lane(i).times, {}));
      }
    }
  }
}

StatusOr<Report> Trainer::Evaluate(Dataset& dataset, std::vector<float>* predictions) {
  FL_CHECK(predictions == nullptr || predict_fetch_ >= 0);
  FL_RETURN_IF_ERROR(StartRun());
  FL_RETURN_IF_ERROR(dataset.StartEpoch(0));
  source_ = &dataset;
  keep_predictions_ = predictions != nullptr;
  {
    MutexLock lock(mutex_);
    predictions_.clear();  // of an evaluation that failed
  }
  FL_RETURN_IF_ERROR(evaluate_loop_.Run(evaluate_));
  TakeTimes(evaluate_);
  if (Cancelled() && Cancelled()()) return absl::CancelledError("the test was stopped");
  if (predictions != nullptr) {
    predictions->clear();
    MutexLock lock(mutex_);
    for (const auto& [ordinal, values] : std::exchange(predictions_, {})) {
      predictions->insert(predictions->end(), values.begin(), values.end());
    }
  }
  return FinishRun(dataset);
}

void Trainer::KeepPredictions(const BatchResult& result) {
  const auto values = result.fetched[static_cast<size_t>(predict_fetch_)].values;
  MutexLock lock(mutex_);
  predictions_[result.ordinal].assign(values.begin(), values.end());
}

void Trainer::TellFetched(std::span<const FetchedValue> fetched) {
  if (!options_.on_fetch) return;
  const int64_t batch = fetch_count_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (batch % options_.fetch_batches != 0) return;
  MutexLock lock(mutex_);
  options_.on_fetch(batch, fetched.last(options_.fetches.size()));
}

Status Trainer::StartRun(const Report& before) {
  before_ = before;
  before_metrics_ = nullptr;
  if (!before.metric_state.empty()) {
    FL_ASSIGN_OR_RETURN(MetricSet metrics, MetricSet::Make(metric_specs_));
    FL_RETURN_IF_ERROR(Annotate(metrics.MergeState(before.metric_state),
                                "the metrics of the first part of the epoch"));
    before_metrics_ = std::make_unique<MetricSet>(std::move(metrics));
  }
  fetch_count_ = before.batches;
  {
    MutexLock lock(mutex_);
    progress_rows_ = before.rows;
    progress_batches_ = before.batches;
    bad_batches_ = before.bad_batches;
    limited_bad_batches_ = before.limited_bad_batches;
    bad_batch_rows_ = before.bad_batch_rows;
    bad_batch_texts_ = before.bad_batch_texts;
  }
  std::ranges::fill(workers_, Worker());
  metrics_->Reset();
  start_nanos_ = clock_->NowNanos();
  return absl::OkStatus();
}

double Trainer::Seconds() const {
  return before_.seconds + static_cast<double>(clock_->NowNanos() - start_nanos_) * 1e-9;
}

Report Trainer::SoFar() const {
  Report report;
  report.seconds = Seconds();
  report.step = communicator_->global_step();
  report.rows = before_.rows;
  report.batches = before_.batches;
  report.weight = before_.weight;
  report.loss = before_.loss * before_.loss_weight();
  report.times = before_.times;
  for (const Worker& worker : workers_) {
    report.rows += worker.rows;
    report.batches += worker.batches;
    report.loss += worker.loss;
    report.weight += worker.weight;
    report.times.Add(worker.times);
  }
  report.trained = report.rows;
  report.loss = report.rows > 0 ? report.loss / report.loss_weight() : 0;
  {
    MutexLock lock(mutex_);
    report.bad_batches = bad_batches_;
    report.limited_bad_batches = limited_bad_batches_;
    report.bad_batch_rows = bad_batch_rows_;
    report.bad_batch_texts = bad_batch_texts_;
  }
  const MetricSet merged = MergedMetrics();
  report.metrics = merged.Values();
  report.metric_details = merged.Details();
  report.metric_state = merged.State();
  report.hints = merged.Hints();
  return report;
}

Report Trainer::FinishRun(const Dataset& dataset) {
  Report report = SoFar();
  DatasetCounts counts = dataset.counts();
  report.skipped = counts.skipped;
  report.dropped = counts.dropped;
  report.bad_rows = std::move(counts.samples);
  return report;
}

MetricSet Trainer::MergedMetrics() const {
  MetricSet merged = *MetricSet::Make(metric_specs_);  // Init has made one from the same specs
  metrics_->MergeTo(&merged);
  if (before_metrics_ != nullptr) merged.Merge(*before_metrics_);
  return merged;
}

void Trainer::AddMetrics(Progress* progress) const {
  MetricSet merged = *MetricSet::Make(metric_specs_);
  metrics_->MergeLiveTo(&merged);
  // The last batches before a resumed epoch continued are not recent.
  progress->window_metrics = merged.WindowValues();
  if (before_metrics_ != nullptr) merged.MergeLive(*before_metrics_);
  progress->metrics = merged.Values();
}

// Metrics read the first of the fetched values.
void Trainer::Count(int worker, const BatchResult& result) {
  Worker& counted = workers_[static_cast<size_t>(worker)];
  counted.rows += result.rows;
  ++counted.batches;
  counted.loss += RowLoss(result.loss, result.rows);
  if (weight_fetch_ >= 0) counted.weight += WeightOf(result);
  metrics_->Add(worker, result.rows, result.fetched);
}

Status Trainer::DropBatch(const Batch& batch, const Status& cause) {
  const std::string text = DescribeBadBatch(batch, model_->graph.def().inputs, cause, source_);
  MutexLock lock(mutex_);
  if (limited_bad_batches_ >= options_.max_bad_batches) {
    return FailedPrecondition(
        "{}{}; if the model diverges, a smaller learning rate or gradient clipping helps, "
        "otherwise "
        "check these rows; max_bad_batches allows {} such batches per epoch",
        limited_bad_batches_ > 0
            ? fmt::format("bad batch {} of the epoch: ", limited_bad_batches_ + 1)
            : "",
        text, options_.max_bad_batches);
  }
  ++bad_batches_;
  ++limited_bad_batches_;
  bad_batch_rows_ += batch.rows;
  if (bad_batch_texts_.size() < kBadBatchTexts) bad_batch_texts_.push_back(text);
  if (options_.on_bad_batch) options_.on_bad_batch(limited_bad_batches_, text);
  return absl::OkStatus();
}

double Trainer::WeightOf(const BatchResult& result) const {
  if (weight_fetch_ < 0) return static_cast<double>(result.rows);
  double sum = 0;
  for (const float weight : result.fetched[weight_fetch_].values) sum += weight;
  return sum;
}

void Trainer::TellProgress(const BatchResult& result) {
  if (!options_.on_progress) return;
  MutexLock lock(mutex_);
  progress_rows_ += result.rows;
  if (++progress_batches_ % options_.progress_batches != 0) return;
  const double weight = WeightOf(result);
  const double loss = RowLoss(result.loss, result.rows);
  options_.on_progress({.epoch = epoch_,
                        .step = communicator_->global_step(),
                        .batches = progress_batches_,
                        .rows = progress_rows_,
                        .loss = weight > 0 ? loss / weight : 0,
                        .learning_rate = communicator_->learning_rate(),
                        .seconds = Seconds()});
}

}  // namespace flotilla
