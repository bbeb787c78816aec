// Measures how well the angles between word vectors agree with human similarity ratings of word
// pairs: Spearman's rank correlation, on files of lines `word word score`.
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

// Fields are separated by blanks or tabs; lines that begin with # are ignored. Errors name file and
// line.
StatusOr<std::vector<WordPair>> LoadWordPairs(const std::string& path);

struct SimilarityReport {
  double spearman = 0;  // NaN if fewer than two pairs are known or all scores are equal
  int64_t pairs = 0;    // pairs whose words are both known
  int64_t left_out = 0;
};

// A word is looked up as written, then in lower case (ASCII). words > 0: only among the first
// `words` words.
SimilarityReport ScoreSimilarity(const WordVectors& vectors, std::span<const WordPair> pairs,
                                 int64_t words = 0);

// Equal values get the mean of their ranks. NaN if it is undefined.
// REQUIRES: x and y have the same size.
double Spearman(std::span<const double> x, std::span<const double> y);

}  // namespace flotilla
