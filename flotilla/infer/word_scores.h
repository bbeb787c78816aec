// Runs all evaluations of word vectors at once: analogies by each rule, and similarities.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/infer/analogy.h"
#include "flotilla/infer/word_similarity.h"
#include "flotilla/infer/word_vectors.h"

namespace flotilla {

struct WordScoreOptions {
  std::string questions;           // file of analogies; empty: none
  std::vector<std::string> pairs;  // files of word pairs
  // For the usual rule: only the first restrict_vocab words count; 0: all.
  int64_t restrict_vocab = 30000;
  int threads = 1;
};

struct WordScores {
  // With questions: the usual rule over restrict_vocab words, the usual rule over all words, and
  // the rule of PaddlePaddle's word2vec example over all words.
  std::optional<AnalogyReport> analogy, analogy_all, analogy_original;
  std::vector<std::pair<std::string, SimilarityReport>> similarity;  // by file
};

// Errors name the file and its line.
StatusOr<WordScores> ScoreWords(const WordVectors& vectors, const WordScoreOptions& options);

}  // namespace flotilla
