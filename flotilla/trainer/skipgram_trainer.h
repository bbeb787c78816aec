// Trains word vectors on running text: skip-gram or CBOW with negative samples, one window after
// the other, on rows where they stand in the tables. The fused twin of the graph that
// models/word2vec.h builds: the same loss, without batches of samples in between.
//
//   IdCorpus -> batch of ids -> WindowSampler: words kept, windows, negatives
//            -> kernels::SkipgramUpdate on the rows of emb, emb_w (and emb_b)
//
// Needs a communicator with tables in place. A batch is a step: schedules count batches of about
// ten thousand words.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "flotilla/base/clock.h"
#include "flotilla/base/status.h"
#include "flotilla/base/worker_pool.h"
#include "flotilla/communicator/communicator.h"
#include "flotilla/dataset/id_corpus.h"
#include "flotilla/dataset/window_sampler.h"
#include "flotilla/kernels/skipgram.h"

namespace flotilla {

// The tables of the model, by the names of the original. kBiasTable may be missing: no bias.
inline constexpr char kInputTable[] = "emb";
inline constexpr char kOutputTable[] = "emb_w";
inline constexpr char kBiasTable[] = "emb_b";

struct SkipgramProgress {
  int64_t epoch = 0;
  int64_t words = 0;   // of the text, in this epoch
  double loss = 0;     // per true pair, of the telling worker so far
  double rate = 0;     // learning rate
  double seconds = 0;  // of this epoch
};

struct SkipgramOptions {
  int workers = 1;
  // Continuous bag of words: the mean of the window predicts the word.
  bool cbow = false;
  // Called by one worker at a time, after every batch, while training goes on.
  std::function<void(const SkipgramProgress&)> on_progress;
  // Asked after every batch, by any worker. Once true, the epoch ends (SkipgramReport::stopped).
  std::function<bool()> stop;
};

struct SkipgramReport {
  int64_t words = 0;  // of the text, before down-sampling
  int64_t kept = 0;   // of them, trained as targets
  int64_t batches = 0;
  double loss = 0;     // of a true pair and its negatives, from a sample of the windows
  double seconds = 0;  // from the first batch to the last update
  bool stopped = false;
};

// Not thread-safe; one call at a time.
class SkipgramTrainer {
 public:
  // Makes all rows. Errors: a communicator without tables in place or with an optimizer that a step
  // in place cannot run, tables that are missing or do not fit each other or the sampler's
  // vocabulary.
  // REQUIRES: communicator, sampler and clock outlive the trainer.
  static StatusOr<std::unique_ptr<SkipgramTrainer>> Make(Communicator* communicator,
                                                         const WindowSampler* sampler,
                                                         const Clock* clock,
                                                         SkipgramOptions options);

  // One pass over the corpus. Workers take batches as they come and change shared rows (Hogwild),
  // unless the communicator's schedule is kJoined: then one worker takes them in order, and the
  // same seed gives the same bits. The first error of any worker ends the epoch. A corpus without
  // words is an error.
  StatusOr<SkipgramReport> TrainEpoch(IdCorpus& corpus, int64_t epoch);

 private:
  // What one worker owns.
  struct Worker {
    IdBatch batch;
    KeptWords kept;
    kernels::WindowScratch scratch;
    std::vector<uint32_t> negatives;  // of the windows ahead
    std::vector<float*> inputs, outputs, biases;
    std::vector<std::vector<uint32_t>> touched;  // by table
    SkipgramReport report;
    double loss = 0;  // summed over the pairs that were looked at
    int64_t pairs = 0;
  };
  // The rows of a batch's work.
  struct Rows {
    RowBlock input, output, bias;  // bias.first is null: none
    float rate = 0;
  };

  SkipgramTrainer(Communicator* communicator, const WindowSampler* sampler, const Clock* clock,
                  SkipgramOptions options);
  Status FindTables();

  Status RunWorker(int w, IdCorpus& corpus, int64_t epoch);
  Status TrainBatch(int w, int64_t epoch);
  void HogwildWindows(const Rows& rows, Worker& worker) const;
  void Lookahead(const Rows& rows, size_t word, Worker& worker) const;
  void UpdateWindow(const Rows& rows, size_t word, Worker& worker) const;
  void Touch(Worker& worker, size_t word, const WindowSampler::Window& window) const;
  void Tell(int64_t epoch, double rate, const Worker& worker);

  // Constant after Make.
  Communicator* const communicator_;
  const WindowSampler* const sampler_;
  const Clock* const clock_;
  const SkipgramOptions options_;
  int input_table_ = -1, output_table_ = -1, bias_table_ = -1;

  WorkerPool pool_;
  std::vector<Worker> workers_;
  std::atomic<bool> failed_ = false;
  int64_t start_nanos_ = 0;

  std::mutex mutex_;
  int64_t progress_words_ = 0;  // guarded by mutex_
};

}  // namespace flotilla
