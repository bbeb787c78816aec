#include "flotilla/fleet/executor.h"

#include <algorithm>
#include <iostream>
#include <utility>

#include "flotilla/base/worker_pool.h"
#include "flotilla/communicator/local_communicator.h"
#include "flotilla/fleet/fetch_watch.h"
#include "flotilla/graph/plan.h"
#include "flotilla/infer/find_model.h"
#include "flotilla/metric/metric_set.h"
#include "flotilla/report/summary.h"
#include "flotilla/run/row_task.h"
#include "flotilla/run/run_state.h"
#include "flotilla/trainer/graph_part.h"
#include "flotilla/trainer/round_loop.h"
#include "flotilla/trainer/trainer.h"
#include "flotilla/trainer/worker_round.h"

namespace flotilla {
namespace {

// Joins values along their first axis.
void Append(Tensor more, Tensor* joined) {
  if (joined->data.empty()) {
    *joined = std::move(more);
    return;
  }
  joined->shape.dims[0] += more.shape.dims[0];
  joined->data.insert(joined->data.end(), more.data.begin(), more.data.end());
}

}  // namespace

struct Executor::Feeding {
  explicit Feeding(int workers) : pool(workers) {}

  std::vector<int> vars;   // of the fetch list, without metrics
  size_t metric_vars = 0;  // number of metric values before them in the fetches of the plan
  std::unique_ptr<Plan> plan;
  WorkerPool pool;  // one worker: in the thread of the caller
  std::unique_ptr<RoundLoop> loop;
  RoundLoop::Rounds rounds;
  std::span<const Batch> feeds;  // batches of this call that are not yet read
  std::vector<Tensor> values;    // of `vars`, from the batches of the last call
};

StatusOr<std::unique_ptr<Executor>> Executor::Make(Model model, ExecutorOptions options) {
  std::unique_ptr<Executor> executor(new Executor(std::move(model), options));
  FL_RETURN_IF_ERROR(executor->Init());
  FL_RETURN_IF_ERROR(executor->run_startup());
  return executor;
}

StatusOr<std::unique_ptr<Executor>> Executor::Make(Model model, Communicator* communicator,
                                                   ExecutorOptions options) {
  std::unique_ptr<Executor> executor(new Executor(std::move(model), options));
  FL_RETURN_IF_ERROR(executor->Init());
  executor->communicator_ = communicator;
  return executor;
}

Executor::Executor(Model model, ExecutorOptions options)
    : model_(std::move(model)), options_(options), rows_(model_.format) {}

Executor::~Executor() = default;

Status Executor::Init() {
  FL_RETURN_IF_ERROR(model_.graph.status());
  FL_RETURN_IF_ERROR(CheckWeights(model_));
  FL_ASSIGN_OR_RETURN(run_metrics_, MetricSet::Make(MetricsOf(model_)));
  FL_ASSIGN_OR_RETURN(infer_metrics_, MetricSet::Make(MetricsOf(model_)));
  return absl::OkStatus();
}

std::ostream& Executor::print() const {
  return options_.print != nullptr ? *options_.print : std::cout;
}

Status Executor::run_startup() {
  if (own_ == nullptr && communicator_ != nullptr) {
    return FailedPrecondition("run_startup: the parameters live on servers, which initialize them");
  }
  FL_ASSIGN_OR_RETURN(own_, LocalCommunicator::Make(SpecOf(model_, options_.seed),
                                                    {.joined = options_.deterministic}));
  communicator_ = own_.get();
  train_feeding_.reset();  // they refer to the communicator before
  infer_feeding_.reset();
  return absl::OkStatus();
}

Status Executor::CheckFetches(std::span<const Fetch> fetches) const {
  for (const Fetch& fetch : fetches) {
    if (fetch.metric.empty()) {
      if (!fetch.var.valid() || fetch.var.graph() != &model_.graph.def()) {
        return InvalidArgument("a value to fetch does not belong to the graph of this model");
      }
      if (fetch.var.def().dtype == DType::kIds) {
        return InvalidArgument("fetch of {}: ids cannot be fetched", fetch.var.name());
      }
      continue;
    }
    if (run_metrics_.Find(fetch.metric) == nullptr) {
      return InvalidArgument("the model has no metric {} to fetch", fetch.metric);
    }
  }
  return absl::OkStatus();
}

Status Executor::CheckNoEpochs(const char* call) const {
  if (epochs_ == nullptr) return absl::OkStatus();
  return FailedPrecondition("{}: {} is training this model now; call it when {} has returned", call,
                            epochs_, epochs_);
}

Status Executor::check_idle(const char* call) const {
  MutexLock lock(run_mutex_);
  return CheckNoEpochs(call);
}

Status Executor::BeginEpochs(const char* call) {
  MutexLock lock(run_mutex_);
  FL_RETURN_IF_ERROR(CheckNoEpochs(call));
  if (pass_open_) FL_RETURN_IF_ERROR(EndPass());
  epochs_ = call;
  return absl::OkStatus();
}

void Executor::EndEpochs() {
  MutexLock lock(run_mutex_);
  epochs_ = nullptr;
}

StatusOr<Report> Executor::train_from_dataset(Dataset& dataset, const DatasetRunOptions& options) {
  FL_RETURN_IF_ERROR(CheckFetches(options.fetch_list));
  for (const auto& [name, fetch] : options.fetch_handler.vars) {
    FL_RETURN_IF_ERROR(Annotate(CheckFetches({&fetch, 1}), "fetch handler: " + name));
  }
  FL_RETURN_IF_ERROR(BeginEpochs("train_from_dataset"));
  StatusOr<Report> report = TrainOn(dataset, options);
  EndEpochs();
  return report;
}

StatusOr<Report> Executor::TrainOn(Dataset& dataset, const DatasetRunOptions& options) {
  FetchWatch watch(&options, &print());
  Trainer* running = nullptr;
  const int workers = options.threads > 0 ? options.threads : options_.threads;
  TrainerOptions trainer_options{.workers = workers, .seed = options_.seed};
  trainer_options.stop = options.stop;
  trainer_options.max_bad_batches = options.max_bad_batches;
  trainer_options.on_bad_batch = [this](int64_t number, const std::string& text) {
    print() << fmt::format("left out bad batch {} of the epoch: {}", number, text) << std::endl;
  };
  trainer_options.fetches = watch.vars();
  trainer_options.fetch_batches = watch.batches();
  trainer_options.on_fetch = [&](int64_t batch, std::span<const FetchedValue> values) {
    watch.Batch(batch, values, [&] { return running->MergedMetrics(); });
  };
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer,
                      Trainer::Make(&model_, communicator_, &clock_, std::move(trainer_options)));
  running = trainer.get();
  FL_ASSIGN_OR_RETURN(Report report, trainer->TrainEpoch(dataset, epoch_++));
  if (report.rows == 0 && report.bad_batches > 0 && own_ != nullptr && !report.stopped) {
    return FailedPrecondition("all {} batches are bad: {}", report.bad_batches,
                              report.bad_batch_texts[0]);
  }
  if (report.rows == 0 && own_ != nullptr && !report.stopped)
    return InvalidArgument("the dataset has no rows");
  if (options.debug) {
    RunSummary summary{.workers = workers};
    summary.AddEpoch(report, dataset.counts());
    print() << SummaryText(summary);
  }
  return report;
}

StatusOr<RunResult> Executor::fit(TrainOptions options, std::optional<GivenRows> rows,
                                  Terminal& terminal, RunHost host) {
  FL_RETURN_IF_ERROR(BeginEpochs("fit"));
  StatusOr<RunResult> result = Fit(std::move(options), std::move(rows), terminal, std::move(host));
  EndEpochs();
  return result;
}

StatusOr<RunResult> Executor::Fit(TrainOptions options, std::optional<GivenRows> rows,
                                  Terminal& terminal, RunHost host) {
  if (own_ == nullptr && host.job == nullptr) {
    return FailedPrecondition("fit: the parameters live on servers, and no job is given");
  }
  options.threads = options_.threads;
  options.seed = options_.seed;
  options.deterministic = options_.deterministic;
  options.epochs += epoch_;
  host.first_epoch = epoch_;
  host.continues = !fit_out_.empty() && fit_out_ == options.keep.out;
  RowTask task(
      options,
      [this](Terminal&, const Interrupt*) -> StatusOr<RowModel> {
        return RowModel{.model = CopyOf(model_)};
      },
      std::move(rows));
  TrainerJob alone;  // while it lasts, the parameters are those of the run
  const bool lend = host.job == nullptr;
  if (lend) {
    alone.local = static_cast<LocalCommunicator*>(own_.get());
    alone.communicator = std::move(own_);
    alone.group = MakeSoloGroup();
    host.job = &alone;
  }
  StatusOr<RunResult> result = RunTraining(options, task, terminal, host);
  if (lend) own_ = std::move(alone.communicator);
  FL_RETURN_IF_ERROR(result.status());
  epoch_ = result->last_epoch + 1;
  fit_out_ = options.keep.out;
  rows_ = task.format();
  return result;
}

StatusOr<Report> Executor::train_from_dataset(SlotDataset& dataset,
                                              const DatasetRunOptions& options) {
  FL_ASSIGN_OR_RETURN(Dataset * opened, dataset.open());
  rows_ = dataset.row_format();
  return train_from_dataset(*opened, options);
}

StatusOr<Report> Executor::infer_from_dataset(Dataset& dataset, const Interrupt* interrupt) {
  FL_RETURN_IF_ERROR(communicator_->Refresh());  // others may have trained since
  TrainerOptions options{.workers = options_.threads, .seed = options_.seed};
  if (interrupt != nullptr) options.stop = [interrupt] { return interrupt->raised(); };
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer,
                      Trainer::Make(&model_, communicator_, &clock_, std::move(options)));
  return trainer->Evaluate(dataset);
}

StatusOr<Report> Executor::infer_from_dataset(SlotDataset& dataset, const Interrupt* interrupt) {
  FL_ASSIGN_OR_RETURN(Dataset * opened, dataset.open());
  return infer_from_dataset(*opened, interrupt);
}

StatusOr<Report> Executor::infer_from_files(const DataOptions& data, int64_t batch_size,
                                            Terminal& terminal, const Interrupt* interrupt) {
  const std::vector<InputSpec>& inputs = model_.graph.def().inputs;
  FL_ASSIGN_OR_RETURN(const std::shared_ptr<const Parser> parser,
                      MakeModelParser(rows_, inputs, data));
  OpenDataOptions what{.flag = "--test",
                       .for_training = false,
                       .batch = {.batch_size = batch_size, .seed = options_.seed},
                       .threads = options_.threads,
                       .interrupt = interrupt};
  FL_ASSIGN_OR_RETURN(const auto files, FindFiles(what.flag, data.test, data));
  what.files = WholeFiles(files);
  FL_ASSIGN_OR_RETURN(const OpenedData opened,
                      OpenData(what, data, parser, terminal.clock,
                               [&](std::string_view line) { terminal.log.info("{}", line); }));
  return infer_from_dataset(*opened.dataset, interrupt);
}

StatusOr<Executor::Feeding*> Executor::Prepare(std::span<const Fetch> fetch_list, int workers,
                                               bool training) {
  FL_RETURN_IF_ERROR(CheckFetches(fetch_list));
  std::vector<int> vars;
  for (const Fetch& fetch : fetch_list) {
    if (fetch.metric.empty()) vars.push_back(fetch.var.index());
  }
  std::unique_ptr<Feeding>& feeding = training ? train_feeding_ : infer_feeding_;
  if (feeding != nullptr && feeding->vars == vars && feeding->pool.workers() == workers) {
    return feeding.get();
  }
  auto made = std::make_unique<Feeding>(workers);
  std::vector<int> fetches = MetricSet::Fetches(MetricsOf(model_));
  made->metric_vars = fetches.size();
  made->vars = vars;
  fetches.insert(fetches.end(), vars.begin(), vars.end());
  FL_ASSIGN_OR_RETURN(made->plan,
                      Plan::Make(model_.graph.def(), {.loss = training ? model_.loss.index() : -1,
                                                      .fetches = std::move(fetches)}));
  MakeLoop(training, made.get());
  feeding = std::move(made);
  return feeding.get();
}

// The training loop over the batches in `feeds`.
void Executor::MakeLoop(bool training, Feeding* feeding) {
  const auto computed = [this, training, feeding](int, const Round& round) {
    const size_t metric_vars = feeding->metric_vars;
    for (const BatchResult& result : round.results()) {
      MetricSet& metrics = training ? run_metrics_ : infer_metrics_;
      metrics.Add(result.rows, result.fetched.first(metric_vars));
      for (size_t i = 0; i < feeding->vars.size(); ++i) {
        const VarDef& var = model_.graph.def().vars[feeding->vars[i]];
        Append(TensorOf(result.fetched[metric_vars + i], var.shape), &feeding->values[i]);
      }
    }
  };
  feeding->loop = std::make_unique<RoundLoop>(communicator_, &clock_, &feeding->pool,
                                              RoundLoopOptions{.computed = computed});
  const GraphParts parts{
      .plan = feeding->plan.get(),
      .step = {.seed = options_.seed, .trainer = communicator_->trainer(), .training = training},
      .communicator = communicator_,
      .clock = &clock_,
      .checked_first = true,
      .next = [this, training, feeding](int, Batch* batch) -> StatusOr<bool> {
        if (feeding->feeds.empty()) return false;
        *batch = feeding->feeds.front();
        feeding->feeds = feeding->feeds.subspan(1);
        if (!training) return true;
        batch->epoch = epoch_;
        batch->ordinal = fed_batches_++;
        return true;
      }};
  std::vector<std::unique_ptr<Part>> all;
  if (feeding->pool.workers() > 1) {
    for (int w = 0; w < feeding->pool.workers(); ++w) {
      all.push_back(std::make_unique<GraphPart>(parts, w));
    }
    feeding->rounds.push_back(std::make_unique<WorkerRound>(
        std::move(all), RoundMerge::kMean, communicator_->spec(), &feeding->pool, &clock_));
    return;
  }
  for (int d = 0; d < feeding->loop->depth(); ++d) {
    feeding->rounds.push_back(
        std::make_unique<WorkerRound>(std::make_unique<GraphPart>(parts, /*worker=*/0)));
  }
}

StatusOr<std::vector<Tensor>> Executor::RunOnce(std::span<const Batch> feeds,
                                                std::span<const Fetch> fetch_list, bool training) {
  if (training && !model_.loss.valid()) {
    return FailedPrecondition("the model has no loss: it can be used for inference only");
  }
  const Schedule schedule = communicator_->schedule();
  const bool one_round = training && schedule.joined && !schedule.shares_batch;
  const int workers = one_round ? static_cast<int>(feeds.size()) : 1;
  FL_ASSIGN_OR_RETURN(Feeding * feeding, Prepare(fetch_list, workers, training));
  if (training) FL_RETURN_IF_ERROR(BeginPass());
  feeding->values.assign(feeding->vars.size(), {});
  feeding->feeds = feeds;
  FL_RETURN_IF_ERROR(feeding->loop->Run({&feeding->rounds, 1}));
  const MetricSet& metrics = training ? run_metrics_ : infer_metrics_;
  std::vector<Tensor> fetched;
  size_t next = 0;
  for (const Fetch& fetch : fetch_list) {
    fetched.push_back(fetch.metric.empty() ? std::move(feeding->values[next++])
                                           : TensorOf(fetch, metrics));
  }
  return fetched;
}

StatusOr<std::vector<Tensor>> Executor::run(const Batch& feed, std::span<const Fetch> fetch_list) {
  return run(std::span<const Batch>(&feed, 1), fetch_list);
}

StatusOr<std::vector<Tensor>> Executor::run(std::span<const Batch> feeds,
                                            std::span<const Fetch> fetch_list) {
  FL_CHECK(!feeds.empty());
  MutexLock lock(run_mutex_);
  FL_RETURN_IF_ERROR(CheckNoEpochs("run"));
  return RunOnce(feeds, fetch_list, true);
}

Status Executor::BeginPass() {
  if (pass_open_) return absl::OkStatus();
  FL_RETURN_IF_ERROR(communicator_->BeginEpoch());
  pass_open_ = true;
  fed_batches_ = 0;
  return absl::OkStatus();
}

Status Executor::end_pass() {
  MutexLock lock(run_mutex_);
  FL_RETURN_IF_ERROR(CheckNoEpochs("end_pass"));
  return EndPass();
}

// If no pass is open, this worker has no batch in it; the other workers must be told.
Status Executor::EndPass() {
  if (!pass_open_) {
    FL_RETURN_IF_ERROR(communicator_->BeginEpoch({.has_batch = false}));
  }
  pass_open_ = false;
  ++epoch_;
  return communicator_->Flush();
}

void Executor::reset_metrics() {
  {
    MutexLock lock(run_mutex_);
    run_metrics_.Reset();
  }
  MutexLock lock(infer_mutex_);
  infer_metrics_.Reset();
}

StatusOr<std::vector<double>> Executor::metric_state(const std::string& metric) const {
  MutexLock lock(run_mutex_);
  const Metric* found = run_metrics_.Find(metric);
  if (found == nullptr) return InvalidArgument("the model has no metric {}", metric);
  return found->State();
}

StatusOr<std::vector<Tensor>> Executor::infer(const Batch& feed,
                                              std::span<const Fetch> fetch_list) {
  MutexLock lock(infer_mutex_);
  return RunOnce({&feed, 1}, fetch_list, false);
}

StatusOr<Tensor> Executor::rows(const std::string& table, std::span<const uint64_t> ids) {
  const ModelSpec& spec = communicator_->spec();
  const int index = FindTable(spec, table);
  if (index < 0) return NotFound("the model has no table {}", table);
  std::vector<SparseRows> pulled(spec.tables.size());
  for (size_t t = 0; t < pulled.size(); ++t) pulled[t].dim = spec.tables[t].dim;
  SparseRows& rows = pulled[index];
  rows.ids.assign(ids.begin(), ids.end());
  std::sort(rows.ids.begin(), rows.ids.end());
  rows.ids.erase(std::unique(rows.ids.begin(), rows.ids.end()), rows.ids.end());
  FL_RETURN_IF_ERROR(communicator_->Pull(0, Missing::kDefault, pulled));
  Tensor tensor{.shape = {{static_cast<int64_t>(ids.size()), rows.dim}}};
  tensor.data.reserve(ids.size() * static_cast<size_t>(rows.dim));
  for (const uint64_t id : ids) {
    const size_t at = std::lower_bound(rows.ids.begin(), rows.ids.end(), id) - rows.ids.begin();
    tensor.data.insert(tensor.data.end(), rows.row(at), rows.row(at) + rows.dim);
  }
  return tensor;
}

Status Executor::save_persistables(const std::string& dir) {
  FL_ASSIGN_OR_RETURN(const Sections sections, SectionsOf(model_, rows_, {.epoch = epoch_}));
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<PendingSave> save, communicator_->BeginSave({}));
  return save->Write(dir, sections);
}

Status Executor::save_inference_model(const std::string& dir, Var predict) {
  ModelSections parts = DescribeModel(model_, rows_);
  if (predict.valid()) {
    FL_RETURN_IF_ERROR(CheckFetches(std::vector<Fetch>{predict}));
    parts.predict = predict.index();
  }
  if (parts.predict < 0) {
    return InvalidArgument(
        "save_inference_model: the model does not define a prediction: pass the value to predict, "
        "or set Model::predict");
  }
  const ModelSections pruned = PruneForInference(parts);
  SaveContents contents{.optimizer_state = false, .names = std::vector<std::string>()};
  for (const ParameterSpec& p : pruned.graph.def().parameters) contents.names->push_back(p.name);
  for (const TableSpec& table : pruned.graph.def().tables) contents.names->push_back(table.name);
  FL_ASSIGN_OR_RETURN(const Sections sections, ToSections(pruned));
  FL_ASSIGN_OR_RETURN(const std::unique_ptr<PendingSave> save, communicator_->BeginSave(contents));
  return save->Write(dir, sections);
}

Status Executor::load_persistables(const std::string& dir, const LoadOptions& options,
                                   std::vector<std::string>* missing) {
  FL_RETURN_IF_ERROR(check_idle("load"));
  FL_ASSIGN_OR_RETURN(const LoadedModel loaded, communicator_->Load(FindModel(dir), options));
  if (missing != nullptr) *missing = loaded.missing;
  FL_ASSIGN_OR_RETURN(ParserSpec rows, FormatFromSections(loaded.sections));
  if (!rows.format.empty()) rows_ = std::move(rows);
  if (loaded.fresh_optimizer) print() << dir << ": " << kFreshOptimizer << std::endl;
  return absl::OkStatus();
}

}  // namespace flotilla
