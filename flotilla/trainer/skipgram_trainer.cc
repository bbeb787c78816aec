#include "flotilla/trainer/skipgram_trainer.h"

#include <algorithm>
#include <utility>

#include "flotilla/kernels/denormals.h"
#include "flotilla/optim/schedule.h"

namespace flotilla {

SkipgramTrainer::SkipgramTrainer(Communicator* communicator, const WindowSampler* sampler,
                                 const Clock* clock, const SkipgramTables& tables,
                                 SkipgramOptions options)
    : communicator_(communicator),
      sampler_(sampler),
      clock_(clock),
      options_(std::move(options)),
      tables_(tables),
      pool_(options_.workers),
      merger_(communicator->spec()) {
  for (int w = 0; w < options_.workers; ++w) {
    Worker& worker =
        workers_.emplace_back(SkipgramWindows(sampler, options_.cbow, tables.bias >= 0));
    worker.touched.resize(communicator->spec().tables.size());
    if (in_place()) continue;
    const int blocks = communicator->schedule().ahead == Schedule::Ahead::kPull ? 2 : 1;
    for (int b = 0; b < blocks; ++b) {
      worker.blocks.emplace_back(&communicator->spec(), tables, sampler);
    }
  }
}

StatusOr<std::unique_ptr<SkipgramTrainer>> SkipgramTrainer::Make(Communicator* communicator,
                                                                 const WindowSampler* sampler,
                                                                 const Clock* clock,
                                                                 SkipgramOptions options) {
  if (options.workers < 1) return InvalidArgument("{} workers", options.workers);
  FL_ASSIGN_OR_RETURN(
      const SkipgramTables tables,
      FindSkipgramTables(communicator->spec(), static_cast<int64_t>(sampler->words())));
  // Makes the rows before any epoch.
  if (communicator->tables_in_place() != nullptr) {
    FL_RETURN_IF_ERROR(communicator->tables_in_place()->Begin(0).status());
  }
  return std::unique_ptr<SkipgramTrainer>(
      new SkipgramTrainer(communicator, sampler, clock, tables, std::move(options)));
}

StatusOr<SkipgramReport> SkipgramTrainer::TrainEpoch(IdCorpus& corpus, int64_t epoch) {
  corpus.StartEpoch();
  for (Worker& worker : workers_) {
    worker.report = {};
    worker.loss = {};
  }
  failed_ = false;
  has_first_ = false;
  start_nanos_ = clock_->NowNanos();
  FL_ASSIGN_OR_RETURN(has_first_, Next(0, corpus, &first_));
  FL_RETURN_IF_ERROR(
      communicator_->BeginEpoch({.has_batch = has_first_, .batches = corpus.batches()}));
  progress_words_ = 0;
  FL_RETURN_IF_ERROR(RunAll(corpus, epoch));
  FL_RETURN_IF_ERROR(communicator_->Flush());
  return Sum();
}

Status SkipgramTrainer::RunAll(IdCorpus& corpus, int64_t epoch) {
  const bool joined = communicator_->schedule().joined;
  if (joined && !in_place()) return RunJoined(corpus, epoch);
  std::vector<Status> errors(workers_.size());
  pool_.Run([&](int w) {
    if (joined && w > 0) return;
    const kernels::FlushDenormals flush;
    errors[w] = in_place() ? RunInPlace(w, corpus, epoch) : RunFree(w, corpus, epoch);
    if (!errors[w].ok()) failed_ = true;
  });
  for (const Status& error : errors) FL_RETURN_IF_ERROR(error);
  return absl::OkStatus();
}

SkipgramReport SkipgramTrainer::Sum() const {
  SkipgramReport total;
  total.seconds = static_cast<double>(clock_->NowNanos() - start_nanos_) * 1e-9;
  total.step = communicator_->global_step();
  WindowLoss loss;
  for (const Worker& worker : workers_) {
    total.words += worker.report.words;
    total.kept += worker.report.kept;
    total.batches += worker.report.batches;
    total.stopped = total.stopped || worker.report.stopped;
    loss.loss += worker.loss.loss;
    loss.pairs += worker.loss.pairs;
  }
  if (loss.pairs > 0) total.loss = loss.loss / static_cast<double>(loss.pairs);
  return total;
}

double SkipgramTrainer::ScheduleFactor() const {
  return options_.schedule ? LearningRate(*options_.schedule, communicator_->global_step()) : 1;
}

bool SkipgramTrainer::Ends(Worker& worker) {
  if (failed_.load(std::memory_order_relaxed)) return true;
  if (!options_.stop || !options_.stop()) return false;
  worker.report.stopped = true;
  return true;
}

Status SkipgramTrainer::RunInPlace(int w, IdCorpus& corpus, int64_t epoch) {
  while (!Ends(workers_[w])) {
    FL_ASSIGN_OR_RETURN(const bool any, Next(w, corpus, &workers_[w].batch));
    if (!any) break;
    FL_RETURN_IF_ERROR(TrainInPlace(w, epoch));
  }
  return absl::OkStatus();
}

Status SkipgramTrainer::TrainInPlace(int w, int64_t epoch) {
  Worker& worker = workers_[w];
  sampler_->Keep(epoch, worker.batch, &worker.kept);
  TablesInPlace& tables = *communicator_->tables_in_place();
  FL_ASSIGN_OR_RETURN(TablesInPlace::Work work, tables.Begin(w));
  const double rate = work.rate * ScheduleFactor();
  const WindowRows rows{.input = work.tables[tables_.input],
                        .output = work.tables[tables_.output],
                        .bias = tables_.bias < 0 ? RowBlock() : work.tables[tables_.bias],
                        .inputs = worker.kept.ids,
                        .targets = worker.kept.ids,
                        .rate = static_cast<float>(rate)};
  const bool touched = tables.wants_touched();
  std::vector<uint32_t>& outputs = worker.touched[tables_.output];
  // Every word is an input of its neighbours' windows and the target of its own.
  if (touched) worker.touched[tables_.input] = outputs = worker.kept.ids;
  worker.windows.HogwildRun(worker.kept, rows, &worker.loss, touched ? &outputs : nullptr);
  if (touched && tables_.bias >= 0) worker.touched[tables_.bias] = outputs;
  FL_RETURN_IF_ERROR(tables.End(w, std::move(work), worker.touched));
  Count(epoch, rate, worker.batch, worker.kept, worker);
  return absl::OkStatus();
}

StatusOr<bool> SkipgramTrainer::Next(int w, IdCorpus& corpus, IdBatch* batch) {
  if (w != 0 || !has_first_) {
    StatusOr<bool> any = corpus.Next(batch);
    if (absl::IsCancelled(any.status()) && Ends(workers_[w])) return false;
    return any;
  }
  has_first_ = false;
  std::swap(*batch, first_);
  return true;
}

StatusOr<std::optional<Pending>> SkipgramTrainer::StartBlock(int w, IdCorpus& corpus, int64_t epoch,
                                                             SkipgramBlock* block) {
  if (Ends(workers_[w])) return std::optional<Pending>();
  FL_ASSIGN_OR_RETURN(const bool any, Next(w, corpus, &block->batch()));
  if (!any) return std::optional<Pending>();
  block->Prepare(epoch);
  FL_ASSIGN_OR_RETURN(Pending pull, communicator_->StartPull(w, Missing::kCreate, block->rows()));
  return std::optional<Pending>(std::move(pull));
}

void SkipgramTrainer::TrainBlock(int w, int64_t epoch, SkipgramBlock* block) {
  Worker& worker = workers_[w];
  const double server_rate = communicator_->learning_rate();
  const double rate = server_rate * ScheduleFactor();
  worker.windows.HogwildRun(block->kept(), block->Open(rate), &worker.loss, nullptr);
  block->TakeGradients(server_rate / options_.push_scale, &worker.gradients);
  Count(epoch, rate, block->batch(), block->kept(), worker);
}

Status SkipgramTrainer::RunFree(int w, IdCorpus& corpus, int64_t epoch) {
  Worker& worker = workers_[w];
  const size_t blocks = worker.blocks.size();
  FL_ASSIGN_OR_RETURN(std::optional<Pending> pull, StartBlock(w, corpus, epoch, &worker.blocks[0]));
  for (size_t k = 0; pull.has_value(); ++k) {
    SkipgramBlock& block = worker.blocks[k % blocks];
    SkipgramBlock& next = worker.blocks[(k + 1) % blocks];
    FL_RETURN_IF_ERROR(pull->Wait());
    if (blocks > 1) {
      FL_ASSIGN_OR_RETURN(pull, StartBlock(w, corpus, epoch, &next));
    }
    TrainBlock(w, epoch, &block);
    FL_RETURN_IF_ERROR(communicator_->Push(w, worker.gradients));
    if (blocks == 1) {
      FL_ASSIGN_OR_RETURN(pull, StartBlock(w, corpus, epoch, &next));
    }
  }
  return absl::OkStatus();
}

// Rounds: a batch for each worker, taken in order; their gradients, added in that order, are one
// push.
Status SkipgramTrainer::RunJoined(IdCorpus& corpus, int64_t epoch) {
  std::vector<Status> errors(workers_.size());
  while (!Ends(workers_[0])) {
    size_t batches = 0;
    for (; batches < workers_.size(); ++batches) {
      FL_ASSIGN_OR_RETURN(const bool any, Next(static_cast<int>(batches), corpus,
                                               &workers_[batches].blocks[0].batch()));
      if (!any) break;
    }
    if (batches == 0) break;
    pool_.Run([&](int w) {
      if (static_cast<size_t>(w) >= batches) return;
      const kernels::FlushDenormals flush;
      SkipgramBlock& block = workers_[w].blocks[0];
      block.Prepare(epoch);
      errors[w] = communicator_->Pull(w, Missing::kCreate, block.rows());
      if (errors[w].ok()) TrainBlock(w, epoch, &block);
    });
    merger_.Start();
    for (size_t w = 0; w < batches; ++w) {
      FL_RETURN_IF_ERROR(errors[w]);
      if (batches > 1) merger_.Add(workers_[w].gradients);
    }
    FL_RETURN_IF_ERROR(
        communicator_->Push(0, batches > 1 ? merger_.Result() : workers_[0].gradients));
  }
  return absl::OkStatus();
}

void SkipgramTrainer::Count(int64_t epoch, double rate, const IdBatch& batch, const KeptWords& kept,
                            Worker& worker) {
  worker.report.words += batch.words;
  worker.report.kept += static_cast<int64_t>(kept.size());
  ++worker.report.batches;
  if (!options_.on_progress) return;
  std::lock_guard lock(mutex_);
  progress_words_ += batch.words;
  const WindowLoss& loss = worker.loss;
  options_.on_progress({.epoch = epoch,
                        .step = communicator_->global_step(),
                        .words = progress_words_,
                        .loss = loss.pairs == 0 ? 0 : loss.loss / static_cast<double>(loss.pairs),
                        .rate = rate,
                        .seconds = static_cast<double>(clock_->NowNanos() - start_nanos_) * 1e-9});
}

}  // namespace flotilla
