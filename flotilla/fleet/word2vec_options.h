// Everything that a run of word2vec can be told, as plain values. The `train word2vec` command
// fills it; word2vec_run.h does what it says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/corpus/tokenizer.h"
#include "flotilla/corpus/window_sampler.h"
#include "flotilla/fleet/train_options.h"
#include "flotilla/infer/word_vectors.h"

namespace flotilla {

struct Word2VecRunOptions {
  std::vector<std::string> files;  // of text, or of ids
  bool text_is_ids = false;        // needs dict
  TokenizerKind tokenizer = TokenizerKind::kEnglish;
  std::string dict;        // dictionary to use; empty: the words of the text
  uint64_t min_count = 5;  // of the text: words seen fewer times are left out
  // Ids in memory, four bytes a word; otherwise text is read in every epoch. Not set: in memory
  // unless they would take more than a quarter of the machine's.
  std::optional<bool> in_memory;
  // Trainers of a job each take every so many-th block of the text; otherwise they share the files,
  // or each reads all it is given, as fleet.split_files says.
  bool share_blocks = true;
  WindowOptions windows;  // the seed is set by the run

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
  FleetOptions fleet;          // where the parameters live, and this process's part in it

  // Start from these vectors: a model directory or a file of the usual tools. Words that they have
  // keep their vectors, also those that the text has not; other words start anew.
  std::string init_model;

  std::string vectors;  // file to write; empty: none
  VectorFormat vectors_format = VectorFormat::kText;
  std::string save_dict;           // dictionary file to write; empty: none
  std::string out;                 // directory of models; empty: none; metrics go to OUT.log
  bool overwrite = false;          // replace the models of another run in `out`
  std::string plot;                // picture of the loss over the steps (.svg); empty: none
  std::string questions;           // analogies to score at the end; empty: none
  std::vector<std::string> pairs;  // word pairs to score at the end
};

}  // namespace flotilla
