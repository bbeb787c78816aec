// `flotilla infer` on word vectors: how well they answer analogies and agree with human
// judgements of pairs of words.
#pragma once

#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/infer/word_scores.h"
#include "flotilla/run/terminal.h"

namespace flotilla {

// Scores each model (a directory, or a file of vectors) and prints a table, or one JSON
// object per line. See OpenWordVectors for `dict`.
Status InferWords(const std::vector<std::string>& models, const std::string& dict,
                  const WordScoreOptions& options, bool json, Terminal& terminal);

inline constexpr char kInferWordsJsonHelp[] =
    R"(
and for a word2vec model:
  model, words, dim            the directory, the number of words, the dimension of the vectors
  analogy_accuracy             with --questions: accuracy by gensim's rule for --restrict_vocab
  analogy, analogy_all, analogy_original    the same with its sections; over all words; by the rule
                               of PaddlePaddle's tutorials (vectors not normalized, questions with
                               unknown words included)
  similarity                   with --similarity: Spearman's correlation, by the name of the file
  seconds                      time of scoring, without loading the model)";

}  // namespace flotilla
