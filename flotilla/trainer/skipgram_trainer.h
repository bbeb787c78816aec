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
#include <mutex>
#include <optional>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/status.h"
#include "flotilla/base/worker_pool.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/corpus/id_corpus.h"
#include "flotilla/corpus/window_sampler.h"
#include "flotilla/trainer/round_loop.h"
#include "flotilla/trainer/skipgram_part.h"

namespace flotilla {

struct SkipgramProgress {
  int64_t epoch = 0;
  int64_t step = 0;    // global
  int64_t words = 0;   // of the text, in this epoch
  double loss = 0;     // per true pair, of the reporting worker so far
  double rate = 0;     // learning rate
  double seconds = 0;  // of this epoch
};

struct SkipgramOptions {
  int workers = 1;
  // Continuous bag of words: the mean of the window predicts the word.
  bool cbow = false;
  // A factor of the communicator's learning rate, as a function of its global step: for models
  // whose servers cannot know how long the text is. Not set: 1.
  std::optional<ScheduleSpec> schedule;
  // Gradients are multiplied by it before they are pushed: set to the number of trainers if servers
  // average over them (sync), so that the updates of all trainers count in full.
  double push_scale = 1;
  // Called by one worker at a time, after every batch, while training continues.
  std::function<void(const SkipgramProgress&)> on_progress;
  // Called after every batch, by any worker. Once it returns true, the epoch ends
  // (SkipgramReport::stopped).
  std::function<bool()> stop;
};

struct SkipgramReport {
  int64_t words = 0;  // of the text, before down-sampling
  int64_t kept = 0;   // of them, trained as targets
  int64_t batches = 0;
  int64_t step = 0;    // global, after the last update
  double loss = 0;     // of a true pair and its negatives, from a sample of the windows
  double seconds = 0;  // from the first batch to the last update
  bool stopped = false;
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
  // not an error: one of several trainers may have no share of a short text.
  StatusOr<SkipgramReport> TrainEpoch(IdCorpus& corpus, int64_t epoch);

 private:
  SkipgramTrainer(Communicator* communicator, const WindowSampler* sampler, const Clock* clock,
                  const SkipgramTables& tables, SkipgramOptions options);

  RoundLoop::Rounds MakeRounds(const SkipgramParts& parts, int worker);
  // Reads the next batch for worker w; the first one was read before the epoch began. Returns false
  // at the end of the text, or if a stop cancelled the read.
  StatusOr<bool> Next(int w, IdBatch* batch);
  bool StopWanted() const { return options_.stop && options_.stop(); }
  void TellProgress(const BatchResult& result);
  SkipgramReport Sum() const;

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
  int64_t start_nanos_ = 0;
  // Used by worker 0 once workers run.
  IdBatch first_;
  bool has_first_ = false;  // first_ is still to be trained

  std::mutex mutex_;
  int64_t progress_words_ = 0;  // guarded by mutex_
};

}  // namespace flotilla
