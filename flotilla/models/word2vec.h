// Word2Vec with the public layers, as in PaddlePaddle's tutorials: three tables, the true word and
// its negatives scored by inner products, sigmoid cross entropy, the mean over the batch. It trains
// in every mode, sample by sample; trainer/skipgram_trainer.h trains the same tables on running
// text, many times faster.
#pragma once

#include <cstdint>

#include "flotilla/tensor/optimizer_spec.h"
#include "flotilla/trainer/model.h"

namespace flotilla {

struct Word2VecOptions {
  int64_t vocabulary = 0;  // rows of the tables: ids are below it
  int64_t dim = 100;
  int64_t negatives = 5;
  bool bias = false;  // the table emb_b
  // Initial vectors are uniform in +-start_range / dim: 0.5 as in the word2vec C tool, 1 in gensim.
  double start_range = 0.5;
  // Continuous bag of words: "input_word" has any number of ids, whose mean predicts the word.
  bool cbow = false;
  ScheduleSpec learning_rate;  // of plain gradient descent
};

// Inputs "input_word", "true_label", "neg_label_0" .. "neg_label_(negatives - 1)", each one id;
// tables emb (Uniform(-start_range / dim, start_range / dim)), emb_w (0) and, with bias, emb_b (0).
// The metric "loss" is the cost per sample. Bad options show in the graph's status.
Model Word2Vec(const Word2VecOptions& options);

}  // namespace flotilla
