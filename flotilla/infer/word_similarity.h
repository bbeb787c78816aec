// How well the angles between word vectors agree with what people say of pairs of words: Spearman's
// rank correlation, on files of lines `word word score`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/infer/word_vectors.h"

namespace flotilla {

struct WordPair {
  std::string a, b;
  double score = 0;
};

// Separated by blanks or tabs; lines that begin with # are none. Errors name file and line.
StatusOr<std::vector<WordPair>> LoadWordPairs(const std::string& path);

struct SimilarityReport {
  double spearman = 0;  // NaN where fewer than two pairs are known or all scores are equal
  int64_t pairs = 0;    // both of whose words are known
  int64_t left_out = 0;
};

// A word is looked for as it is written, then in lower case (ASCII). words > 0: only among the
// first so many.
SimilarityReport ScoreSimilarity(const WordVectors& vectors, std::span<const WordPair> pairs,
                                 int64_t words = 0);

// Of equal values each has the mean of their ranks. NaN where it is not defined.
// REQUIRES: as many x as y.
double Spearman(std::span<const double> x, std::span<const double> y);

}  // namespace flotilla
