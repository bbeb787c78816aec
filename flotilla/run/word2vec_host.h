// Words, text and vectors that a program has in memory, for a run of word2vec inside it: instead of
// the dictionary, the files and the tables of a run of the command. word2vec_task.h uses it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/corpus/vocabulary.h"

namespace flotilla {

struct Word2VecHost {
  // The dictionary, in the order of ids.
  std::vector<WordCount> words;
  // The text: sentences of ids (GivenIdCorpus), in batches of batch_words. Empty: the files of the
  // options are read.
  std::span<const uint32_t> ids;
  int64_t batch_words = 10000;
  // (words, dim), the tables kInputTable and kOutputTable: the run starts from these values and
  // replaces them after each epoch, before RunHost::on_epoch, and when it is stopped.
  std::span<float> input, output;
  // Epochs of earlier runs on the same vectors: this run draws other random numbers.
  int64_t earlier_epochs = 0;
};

// Writes the initial vectors of the words [first, words), as a run of the command with this seed
// and --start_range has them, to `rows` (words - first, dim). Output rows start as zeros.
Status InitialWordVectors(uint64_t seed, int64_t dim, double start_range, int64_t first,
                          std::span<float> rows);

}  // namespace flotilla
