// `flotilla infer` on word vectors: how well they answer analogies and agree with what people say
// of pairs of words.
#pragma once

#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/fleet/terminal.h"
#include "flotilla/infer/word_scores.h"

namespace flotilla {

// Scores each model (a directory, or a file of vectors) and prints a table, or one object a line.
// `dict`: OpenWordVectors.
Status InferWords(const std::vector<std::string>& models, const std::string& dict,
                  const WordScoreOptions& options, bool json, Terminal& terminal);

inline constexpr char kInferWordsJsonHelp[] =
    R"(
of a word2vec model:
  model, words, dim            the directory, and what it has
  analogy_accuracy             with --questions: by the usual rule over --restrict_vocab words
  analogy, analogy_all, analogy_original    the same with its sections; over all words; by the
                               original's rule (vectors as they are, unknown words asked too)
  similarity                   with --similarity: Spearman's correlation, by the name of the file
  seconds                      of the scores, without loading the model)";

}  // namespace flotilla
