// Generates text with planted relations and the matching analogy questions, so that word embeddings
// can be evaluated without downloads.
//
// The planted structure: a relation has pairs of words (a_i, b_i). Each pair has a few item words
// that occur near both of its words, and each side of a relation has a few role words that occur
// near all of its words. So the context of a word is that of its item plus that of its role, and in
// a space where context determines direction, b_i - a_i is the same for all i: a_1 is to b_1 as a_2
// is to b_2. About half of the text is background: words that follow Zipf's law and carry no
// information.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flotilla/base/rng.h"
#include "flotilla/base/status.h"
#include "flotilla/base/zipf.h"

namespace flotilla {

struct SynthCorpusOptions {
  uint64_t seed = 0;
  int64_t relations = 6;       // >= 1
  int64_t pairs = 30;          // per relation, >= 2
  int64_t vocabulary = 20000;  // background words, >= 1; all words together at most a million
  double zipf_exponent = 1;    // of the background words, in (0, 10]
  double planted = 0.6;        // fraction of sentences with a planted word, in [0, 1]
};

// Constant after construction, safe to use from any number of threads.
class SynthCorpus {
 public:
  // Text is generated in blocks of this many words; a block depends only on the options and its
  // number.
  static constexpr uint64_t kBlockWords = 10'000;

  // InvalidArgument with the name of the option when one is out of range.
  static StatusOr<SynthCorpus> Make(const SynthCorpusOptions& options);

  // Appends the first `words` words of block `block`, one sentence per line, with words of the
  // letters a-z separated by blanks. REQUIRES: words <= kBlockWords.
  void Block(uint64_t block, uint64_t words, std::string* text) const;

  // All analogy questions in the format of questions-words.txt: a line ": relation-1" and so on
  // before the questions of each relation, then four words per line, a_i b_i a_k b_k for all i !=
  // k.
  std::string Questions() const;
  uint64_t QuestionCount() const;

  // The word of a pair (from 0) of a relation (from 0), on side 0 or 1.
  std::string PlantedWord(int64_t relation, int64_t pair, int side) const;
  // Number of distinct words that may occur in the text.
  int64_t words() const { return background_begin() + options_.vocabulary; }

 private:
  class Draw;  // random numbers of one block

  explicit SynthCorpus(const SynthCorpusOptions& options);

  // Index of the first word of each kind among all words.
  int64_t item_begin() const { return 2 * options_.relations * options_.pairs; }
  int64_t role_begin() const;
  int64_t background_begin() const;

  int64_t BackgroundWord(Draw* draw) const;
  // Replaces `sentence` with the words of the next one.
  void Sentence(Draw* draw, std::vector<int64_t>* sentence) const;

  SynthCorpusOptions options_;
  RngKey key_;
  Zipf zipf_;
};

}  // namespace flotilla
