// One run of word2vec from text to vectors: dictionary, ids, training, files, evaluation; in this
// process, or as a server or trainer of a job. The `train word2vec` command has its flags;
// trainer/skipgram_trainer.h trains.
#pragma once

#include <cstdint>

#include "flotilla/base/status.h"
#include "flotilla/fleet/terminal.h"
#include "flotilla/fleet/word2vec_options.h"
#include "flotilla/infer/word_scores.h"

namespace flotilla {

struct Word2VecResult {
  size_t vocabulary = 0;
  int64_t words = 0;  // words of the text, over all epochs and trainers, before down-sampling
  int64_t kept = 0;   // words trained on, after down-sampling
  int64_t steps = 0;
  double loss = 0;  // of the last epoch, per true pair
  // Counting and reading the dictionary; reading ids into memory; epochs, of the slowest trainer;
  // writing files.
  double dictionary_seconds = 0, load_seconds = 0, train_seconds = 0, save_seconds = 0;
  bool stopped = false;       // by a signal
  int64_t stopped_epoch = 0;  // the epoch in which it was stopped
  int64_t stopped_words = 0;  // words of that epoch trained before it was stopped
  WordScores scores;

  // Measured from the first read after the dictionary, so it includes converting text to ids.
  double words_per_second() const { return WordsPer(load_seconds + train_seconds); }
  // Measured over the epochs only.
  double train_words_per_second() const { return WordsPer(train_seconds); }

 private:
  double WordsPer(double seconds) const {
    return seconds > 0 ? static_cast<double>(words) / seconds : 0;
  }
};

// Runs word2vec in one process, or as a trainer of a job. Errors name the file or the flag. In one
// process a stop signal ends the training after the current batch; the result so far is written,
// marked as interrupted, and terminal.exit_code is set. In a job a stop signal is an error and ends
// the job. An interrupted model has the section kInterruptedSection, {"epoch", "epochs", "words"}:
// the epoch, and the number of its words that were trained.
inline constexpr char kInterruptedSection[] = "interrupted";
StatusOr<Word2VecResult> RunWord2Vec(const Word2VecRunOptions& options, Terminal& terminal);

// Runs a server of a job: serves the tables until the trainers have ended. Like the trainers it
// needs the dictionary, for the number of words.
Status ServeWord2Vec(const Word2VecRunOptions& options, Terminal& terminal);

// Starts fleet.server_num servers and worker_num trainers: counts the words once for all processes,
// starts this program in each role, and prints the results of trainer 0.
Status StartWord2Vec(const Word2VecRunOptions& options, Terminal& terminal);

}  // namespace flotilla
