// Down-sampling of frequent words: they carry little information about their neighbours, so they
// are dropped at random, with a probability that grows with their frequency.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "flotilla/corpus/vocabulary.h"

namespace flotilla {

// (sqrt(f / t) + 1) * t / f with f = count / total; 1 or more means always kept. This is also the
// result for t = 0, which disables down-sampling, and for words that do not occur.
inline double KeepProbability(uint64_t count, uint64_t total, double threshold) {
  if (threshold <= 0 || count == 0) return 1;
  const double scaled = threshold * static_cast<double>(total) / static_cast<double>(count);
  return (std::sqrt(1 / scaled) + 1) * scaled;
}

// The keep probabilities of all words of a vocabulary, as thresholds for a random draw.
class DownSampling {
 public:
  DownSampling() = default;
  DownSampling(const Vocabulary& vocabulary, double threshold) {
    limits_.reserve(vocabulary.size());
    for (const WordCount& word : vocabulary.words()) {
      const double keep = KeepProbability(word.count, vocabulary.total(), threshold);
      limits_.push_back(keep >= 1 ? kAlways : static_cast<uint32_t>(keep * 0x1p32));
    }
  }

  // Whether a word is kept, given random bits (the upper 32 are used). REQUIRES: id < words.
  bool Keeps(uint32_t id, uint64_t bits) const {
    const uint32_t limit = limits_[id];
    return limit == kAlways || (bits >> 32) < limit;
  }
  bool KeepsAlways(uint32_t id) const { return limits_[id] == kAlways; }

 private:
  static constexpr uint32_t kAlways = std::numeric_limits<uint32_t>::max();
  std::vector<uint32_t> limits_;
};

}  // namespace flotilla
