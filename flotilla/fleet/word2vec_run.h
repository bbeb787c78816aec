// One run of word2vec in this process, from text to vectors: dictionary, ids, training, files,
// evaluation. The `train word2vec` command has its flags; trainer/skipgram_trainer.h trains.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/dataset/tokenizer.h"
#include "flotilla/dataset/window_sampler.h"
#include "flotilla/fleet/terminal.h"
#include "flotilla/infer/analogy.h"
#include "flotilla/infer/word_similarity.h"
#include "flotilla/infer/word_vectors.h"

namespace flotilla {

struct Word2VecRunOptions {
  std::vector<std::string> files;  // of text, or of ids
  bool text_is_ids = false;        // needs dict
  TokenizerKind tokenizer = TokenizerKind::kEnglish;
  std::string dict;        // dictionary to use; empty: the words of the text
  uint64_t min_count = 5;  // of the text: words seen fewer times are left out
  bool in_memory = true;   // ids, four bytes a word; otherwise text is read in every epoch
  WindowOptions windows;   // the seed is set by the run

  int64_t dim = 100;
  bool bias = false;
  bool cbow = false;
  int64_t epochs = 5;
  // Of the first step. 0: 0.025, and 0.1 for cbow, whose inputs share the gradient.
  double learning_rate = 0;
  enum class Schedule { kLinear, kExponential, kConstant };
  Schedule schedule = Schedule::kLinear;  // linear: to a ten thousandth of the first
  int64_t decay_steps = 1000;             // exponential: steps of a stair
  double decay_rate = 0.999;              // exponential: from stair to stair
  int threads = 1;
  uint64_t seed = 0;
  bool deterministic = false;  // one worker, batch after batch

  // Start from these vectors: a model directory or a file of the usual tools. Words that they have
  // keep their vectors, also those that the text has not; other words start anew.
  std::string init_model;

  std::string vectors;  // file to write; empty: none
  VectorFormat vectors_format = VectorFormat::kText;
  std::string save_dict;           // dictionary file to write; empty: none
  std::string out;                 // directory of models; empty: none
  std::string questions;           // analogies to score at the end; empty: none
  std::vector<std::string> pairs;  // word pairs to score at the end
};

struct Word2VecResult {
  size_t vocabulary = 0;
  int64_t words = 0;  // of the text, over all epochs, before down-sampling
  int64_t kept = 0;   // of them, trained
  int64_t steps = 0;
  double loss = 0;  // of the last epoch, per true pair
  // Counting and reading the dictionary; reading ids into memory; epochs; writing files.
  double dictionary_seconds = 0, load_seconds = 0, train_seconds = 0, save_seconds = 0;
  bool stopped = false;
  // The usual rule over 30000 words, the usual rule over all, the original's over all.
  std::optional<AnalogyReport> analogy, analogy_all, analogy_original;
  std::vector<std::pair<std::string, SimilarityReport>> similarity;  // by file

  double words_per_second() const {
    return train_seconds > 0 ? static_cast<double>(words) / train_seconds : 0;
  }
};

// Errors name the file or the flag. A stop signal ends the training after its batch; what was
// learned is written, and terminal.exit_code is set.
StatusOr<Word2VecResult> RunWord2Vec(const Word2VecRunOptions& options, Terminal& terminal);

}  // namespace flotilla
