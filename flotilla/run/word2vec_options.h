// All options of a run of word2vec, as plain values. The `train word2vec` command fills them;
// word2vec_task.h reads them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/corpus/tokenizer.h"
#include "flotilla/corpus/window_sampler.h"
#include "flotilla/infer/word_vectors.h"
#include "flotilla/kernels/skipgram.h"
#include "flotilla/run/run_options.h"

namespace flotilla {

struct Word2VecRunOptions : RunOptions {
  std::vector<std::string> files;  // of text, or of ids
  bool text_is_ids = false;        // needs dict
  TokenizerKind tokenizer = TokenizerKind::kEnglish;
  std::string dict;        // dictionary to use; empty: the words of the text
  uint64_t min_count = 5;  // words of the text that occur less often are left out
  // Words that are not in the dictionary are left out even if it has kUnknownWord.
  bool drop_unknown = false;
  // Keep ids in memory, four bytes per word; otherwise the text is read in every epoch. Not set: in
  // memory unless they would take more than a quarter of the machine's memory.
  std::optional<bool> in_memory;
  // Each of T trainers takes every T-th block of the text; otherwise fleet.split_files decides
  // whether they share the files or each reads all files it is given.
  bool share_blocks = true;
  WindowOptions windows;  // the seed is set by the run

  int64_t dim = 100;
  bool bias = false;
  double start_range = 0.5;               // Word2VecOptions::start_range
  std::optional<kernels::CbowRule> cbow;  // not set: skip-gram
  // Learning rate of the first step. 0: 0.025, and 0.1 for CbowRule::kGradient, whose inputs share
  // the gradient.
  double learning_rate = 0;
  enum class Schedule { kLinear, kExponential, kConstant };
  Schedule schedule = Schedule::kLinear;
  // linear: learning rate of the last step. Not set: 1/10000 of the first.
  std::optional<double> last_learning_rate;
  int64_t decay_steps = 1000;  // exponential: steps between two decays
  double decay_rate = 0.999;   // exponential: factor at each decay
  double epoch_part = 1;       // SlowWithinPeriods, with an epoch as period

  // Initial vectors, unless the run is resumed: a model directory, or a file in word2vec's text or
  // binary format. Words that it has keep their vectors, even if they are not in the text; other
  // words start with new vectors.
  std::string init_vectors;

  std::string vectors;  // file to write; empty: none
  VectorFormat vectors_format = VectorFormat::kText;
  std::string save_dict;           // dictionary file to write; empty: none
  std::string questions;           // analogies to score at the end; empty: none
  std::vector<std::string> pairs;  // word pairs to score at the end
};

}  // namespace flotilla
