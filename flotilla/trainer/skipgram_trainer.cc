#include "flotilla/trainer/skipgram_trainer.h"

#include <utility>

#include "flotilla/trainer/worker_round.h"

namespace flotilla {

SkipgramTrainer::SkipgramTrainer(Communicator* communicator, const WindowSampler* sampler,
                                 const Clock* clock, const SkipgramTables& tables,
                                 SkipgramOptions options)
    : communicator_(communicator),
      clock_(clock),
      options_(std::move(options)),
      pool_(options_.workers),
      loop_(communicator, clock, &pool_,
            {.computed = [](int, const Round&) {},
             .pushed =
                 [this](int, const Round& round) {
                   for (const BatchResult& result : round.results()) TellProgress(result);
                 },
             .want_pause = options_.want_pause,
             .at_pause = options_.at_pause,
             .stop = options_.stop}) {
  SkipgramParts parts{.communicator = communicator,
                      .sampler = sampler,
                      .clock = clock,
                      .tables = tables,
                      .cbow = options_.cbow,
                      .schedule = options_.schedule,
                      .earlier_steps = options_.earlier_steps,
                      .push_scale = options_.push_scale,
                      .epoch = &epoch_,
                      .next = [this](int w, IdBatch* batch) { return Next(w, batch); }};
  for (int l = 0; l < loop_.loops(); ++l) rounds_.push_back(MakeRounds(parts, l));
}

RoundLoop::Rounds SkipgramTrainer::MakeRounds(const SkipgramParts& parts, int worker) {
  // With tables in place, joined workers are reduced to one worker: concurrent changes of rows
  // would have no defined order.
  const bool alone = !loop_.schedule().joined || communicator_->tables_in_place() != nullptr;
  RoundLoop::Rounds rounds;
  for (int d = 0; d < loop_.depth(); ++d) {
    std::vector<std::unique_ptr<Part>> all;
    for (int w = worker; w < (alone ? worker + 1 : options_.workers); ++w) {
      std::unique_ptr<SkipgramPart> part = MakeSkipgramPart(parts, w);
      parts_.push_back(part.get());
      all.push_back(std::move(part));
    }
    rounds.push_back(alone ? std::make_unique<WorkerRound>(std::move(all[0]))
                           : std::make_unique<WorkerRound>(std::move(all), RoundMerge::kSum,
                                                           communicator_->spec(), &pool_, clock_));
  }
  return rounds;
}

StatusOr<std::unique_ptr<SkipgramTrainer>> SkipgramTrainer::Make(Communicator* communicator,
                                                                 const WindowSampler* sampler,
                                                                 const Clock* clock,
                                                                 SkipgramOptions options) {
  if (options.workers < 1) return InvalidArgument("{} workers", options.workers);
  FL_ASSIGN_OR_RETURN(
      const SkipgramTables tables,
      FindSkipgramTables(communicator->spec(), static_cast<int64_t>(sampler->words())));
  // Creates all rows before the first epoch.
  if (communicator->tables_in_place() != nullptr) {
    FL_RETURN_IF_ERROR(communicator->tables_in_place()->Begin(0).status());
  }
  return std::unique_ptr<SkipgramTrainer>(
      new SkipgramTrainer(communicator, sampler, clock, tables, std::move(options)));
}

StatusOr<Report> SkipgramTrainer::TrainEpoch(IdCorpus& corpus, int64_t epoch) {
  return ResumeEpoch(corpus, epoch, 0, {});
}

StatusOr<Report> SkipgramTrainer::ResumeEpoch(IdCorpus& corpus, int64_t epoch, int64_t skipped,
                                              const Report& before) {
  FL_RETURN_IF_ERROR(corpus.StartEpoch(skipped));
  corpus_ = &corpus;
  epoch_ = epoch;
  before_ = before;
  for (SkipgramPart* part : parts_) part->Start();
  has_first_ = false;
  {
    MutexLock lock(mutex_);
    progress_words_ = before.rows;
    progress_batches_ = before.batches;
  }
  start_nanos_ = clock_->NowNanos();
  FL_ASSIGN_OR_RETURN(has_first_, Next(0, &first_));
  FL_RETURN_IF_ERROR(
      communicator_->BeginEpoch({.has_batch = has_first_, .batches = corpus.batches()}));
  FL_RETURN_IF_ERROR(loop_.Run(rounds_));
  StopWanted();  // as in Trainer: it asks the others, for whom Flush may wait
  FL_RETURN_IF_ERROR(communicator_->Flush());
  Report report = SoFar();
  report.stopped = StopWanted();
  return report;
}

double SkipgramTrainer::Seconds() const {
  return before_.seconds + static_cast<double>(clock_->NowNanos() - start_nanos_) * 1e-9;
}

Report SkipgramTrainer::SoFar() const {
  Report report;
  report.seconds = Seconds();
  report.step = communicator_->global_step();
  report.times = before_.times;
  WindowLoss loss;
  for (SkipgramPart* part : parts_) {
    const SkipgramPart::Counts& counts = part->counts();
    report.rows += counts.words;
    report.trained += counts.kept;
    report.batches += counts.batches;
    loss.loss += counts.loss.loss;
    loss.pairs += counts.loss.pairs;
    report.times.Add(part->lane().times);
  }
  if (loss.pairs > 0) report.loss = loss.loss / static_cast<double>(loss.pairs);
  if (before_.trained > 0) {
    const auto earlier = static_cast<double>(before_.trained);
    const auto now = static_cast<double>(report.trained);
    report.loss = (before_.loss * earlier + report.loss * now) / (earlier + now);
  }
  report.rows += before_.rows;
  report.trained += before_.trained;
  report.batches += before_.batches;
  return report;
}

StatusOr<bool> SkipgramTrainer::Next(int w, IdBatch* batch) {
  if (w != 0 || !has_first_) {
    StatusOr<bool> any = corpus_->Next(batch);
    if (EndedByStop(any.status(), Cancelled())) return false;
    return any;
  }
  has_first_ = false;
  std::swap(*batch, first_);
  return true;
}

void SkipgramTrainer::TellProgress(const BatchResult& result) {
  if (!options_.on_progress) return;
  MutexLock lock(mutex_);
  progress_words_ += result.rows;
  options_.on_progress({.epoch = epoch_,
                        .step = communicator_->global_step(),
                        .batches = ++progress_batches_,
                        .rows = progress_words_,
                        .loss = result.loss,
                        .learning_rate = result.rate,
                        .seconds = Seconds()});
}

}  // namespace flotilla
