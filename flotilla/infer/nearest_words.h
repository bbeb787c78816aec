// Finds the word vectors nearest to given points by angle: the search behind `flotilla similar` and
// analogies. Points and words are compared in blocks of matrix products, on all cores.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/infer/word_vectors.h"

namespace flotilla {

struct NearWord {
  uint32_t id = 0;
  float similarity = 0;  // inner product; the cosine if the point has length 1

  bool operator==(const NearWord&) const = default;
};

struct NearestOptions {
  int64_t top = 1;
  int64_t words = 0;  // only the first `words` words are candidates; 0: all
  int threads = 1;
};

// For each of the points (count, dim), the `top` candidates with the largest inner product, in
// descending order, ties in word order. excluded[i] are ids that are not candidates for point i;
// empty: none for any point. Fewer than `top` if there are not enough candidates.
// REQUIRES: unit is normalised; excluded is empty or as long as points.
std::vector<std::vector<NearWord>> NearestWords(const WordVectors& unit,
                                                std::span<const float> points,
                                                std::span<const std::vector<uint32_t>> excluded,
                                                const NearestOptions& options);

// The words nearest to a sum of words: "king", "-man", "+woman". The vectors are normalised before
// they are added, and the words themselves are excluded. Errors: no word, an unknown word (with the
// most similarly spelt known word, if any).
StatusOr<std::vector<NearWord>> SimilarWords(const WordVectors& unit,
                                             std::span<const std::string> terms,
                                             const NearestOptions& options);

}  // namespace flotilla
