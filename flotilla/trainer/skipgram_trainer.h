// Trains word vectors on running text: skip-gram or CBOW with negative samples, one window after
// the other. The fused counterpart of the graph that models/word2vec.h builds: the same loss,
// without intermediate batches of samples. It trains in every mode, through the same loop as any
// model (round_loop.h), with its own parts (skipgram_part.h).
//
// A batch is a step, which schedules count; in modes with joined workers (sync, half-async) the
// batches of all workers together are one step.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/status.h"
#include "flotilla/base/worker_pool.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/corpus/id_corpus.h"
#include "flotilla/corpus/window_sampler.h"
#include "flotilla/kernels/skipgram.h"
#include "flotilla/trainer/report.h"
#include "flotilla/trainer/round_loop.h"
#include "flotilla/trainer/skipgram_part.h"

namespace flotilla {

struct SkipgramOptions {
  int workers = 1;
  // Continuous bag of words by this rule: the window predicts the word. Not set: skip-gram.
  std::optional<kernels::CbowRule> cbow;
  // A factor of the communicator's learning rate, as a function of its global step: for models
  // whose servers cannot know how long the text is. Not set: 1.
  std::optional<ScheduleSpec> schedule;
  // Steps of the same training before the communicator's count began; the schedule counts them.
  int64_t earlier_steps = 0;
  // Gradients are multiplied by it before they are pushed: set to the number of trainers if servers
  // average over them (sync), so that the updates of all trainers count in full.
  double push_scale = 1;
  // Called by one worker at a time, after every batch, while training continues. Rows are words;
  // the loss is per true pair, of the reporting worker so far.
  std::function<void(const Progress&)> on_progress;
  // As in TrainerOptions.
  std::function<bool()> want_pause;
  std::function<Status()> at_pause;
  std::function<bool()> stop;
  std::function<bool()> cancelled;
};

// Not thread-safe; one call at a time.
class SkipgramTrainer {
 public:
  // With tables in place, creates all rows. Errors: tables that are missing or do not fit each
  // other or the sampler's vocabulary, an optimizer other than plain gradient descent. REQUIRES:
  // communicator, sampler and clock outlive the trainer.
  static StatusOr<std::unique_ptr<SkipgramTrainer>> Make(Communicator* communicator,
                                                         const WindowSampler* sampler,
                                                         const Clock* clock,
                                                         SkipgramOptions options);

  // One pass over the corpus. In free modes workers take batches as they come; in joined modes
  // they take them in order, so that the same seed gives the same bits (with tables in place one
  // worker takes them all). The first error of any worker ends the epoch. A corpus without words is
  // not an error: one of several trainers may have no share of a short text. In the report, rows
  // are words of the text, trained are those that down-sampling left, and the loss is that of a
  // true pair and its negatives, from a sample of the windows.
  StatusOr<Report> TrainEpoch(IdCorpus& corpus, int64_t epoch);
  // Trains the rest of an epoch after its first `skipped` batches (IdCorpus::position). `before` is
  // what SoFar returned at that position; the report covers both parts.
  StatusOr<Report> ResumeEpoch(IdCorpus& corpus, int64_t epoch, int64_t skipped,
                               const Report& before);
  // The report of the epoch so far. In a pause (at_pause), or after the epoch.
  Report SoFar() const;

 private:
  SkipgramTrainer(Communicator* communicator, const WindowSampler* sampler, const Clock* clock,
                  const SkipgramTables& tables, SkipgramOptions options);

  RoundLoop::Rounds MakeRounds(const SkipgramParts& parts, int worker);
  // Reads the next batch for worker w; the first one was read before the epoch began. Returns false
  // at the end of the text, or if a stop cancelled the read.
  StatusOr<bool> Next(int w, IdBatch* batch);
  bool StopWanted() const { return options_.stop && options_.stop(); }
  const std::function<bool()>& Cancelled() const {
    return options_.cancelled ? options_.cancelled : options_.stop;
  }
  void TellProgress(const BatchResult& result);
  double Seconds() const;

  // Constant after Make.
  Communicator* const communicator_;
  const Clock* const clock_;
  const SkipgramOptions options_;

  WorkerPool pool_;
  RoundLoop loop_;
  std::vector<SkipgramPart*> parts_;       // of all rounds
  std::vector<RoundLoop::Rounds> rounds_;  // by loop
  IdCorpus* corpus_ = nullptr;
  int64_t epoch_ = 0;  // the current epoch
  Report before_;      // of its part before this run
  int64_t start_nanos_ = 0;
  // Used by worker 0 once workers run.
  IdBatch first_;
  bool has_first_ = false;  // first_ is still to be trained

  Mutex mutex_;
  int64_t progress_words_ FL_GUARDED_BY(mutex_) = 0;
  int64_t progress_batches_ FL_GUARDED_BY(mutex_) = 0;
};

}  // namespace flotilla
