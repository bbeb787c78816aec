// What of a batch of running text is trained, and against what: which words down-sampling keeps,
// how far the window of each reaches, which negatives it gets. Every draw is a function of (seed,
// epoch, batch, position), so it does not depend on threads.
#pragma once

#include <cstdint>
#include <vector>

#include "flotilla/base/rng.h"
#include "flotilla/base/status.h"
#include "flotilla/corpus/alias_table.h"
#include "flotilla/corpus/down_sampling.h"
#include "flotilla/corpus/id_corpus.h"
#include "flotilla/corpus/vocabulary.h"

namespace flotilla {

struct WindowOptions {
  int window = 5;        // a word sees 1 .. window words on each side, drawn uniformly
  int negatives = 5;     // for each window, shared by its words
  double sample = 1e-3;  // threshold of down_sampling.h; 0: every word is kept
  double power = 0.75;   // negatives by count ^ power
  uint64_t seed = 0;
};

// The words of a batch that are kept, sentence behind sentence.
struct KeptWords {
  std::vector<uint32_t> ids;
  std::vector<uint32_t> begin, end;  // of the sentence that ids[i] is in
  RngKey windows{0}, negatives{0};   // keys of the batch

  size_t size() const { return ids.size(); }
};

// Constant after it was made: any number of threads may use it.
class WindowSampler {
 public:
  // Options that make no sense are an error, as is a vocabulary without words that occur.
  static StatusOr<WindowSampler> Make(const Vocabulary& vocabulary, const WindowOptions& options);

  // Of the vocabulary.
  size_t words() const { return table_.size(); }
  const WindowOptions& options() const { return options_; }
  // What NegativesOf gives: options().negatives, but 0 when no second word occurs.
  int negatives() const { return negatives_; }

  // Reuses the memory of *kept. REQUIRES: the batch's ids are of the vocabulary.
  void Keep(int64_t epoch, const IdBatch& batch, KeptWords* kept) const;

  struct Window {
    size_t first, last;  // [first, last), the word itself in it
  };
  Window WindowOf(const KeptWords& kept, size_t word) const {
    const size_t reach = 1 + kept.windows.Below(word, static_cast<uint64_t>(options_.window));
    const size_t begin = kept.begin[word], end = kept.end[word];
    return {word - begin > reach ? word - reach : begin,
            end - word > reach ? word + reach + 1 : end};
  }

  // negatives() ids, none of which is the word's own; the same id may come twice.
  void NegativesOf(const KeptWords& kept, size_t word, uint32_t* out) const {
    for (int i = 0; i < negatives_; ++i) {
      out[i] = Negative(kept.negatives, word * static_cast<size_t>(negatives_) + i, kept.ids[word]);
    }
  }

 private:
  WindowSampler(const Vocabulary& vocabulary, const WindowOptions& options);

  uint32_t Negative(const RngKey& key, uint64_t counter, uint32_t own) const {
    uint32_t id = table_.Draw(key.Bits(counter));
    // Far counters, which no other draw of the batch has.
    for (uint64_t again = 1; id == own; ++again) {
      if (again == kAttempts) return own == other_ ? first_ : other_;
      id = table_.Draw(key.Bits(counter + (again << 40)));
    }
    return id;
  }

  // A word that is nearly all of the corpus must not keep a draw for ever.
  static constexpr uint64_t kAttempts = 64;

  WindowOptions options_;
  int negatives_;
  uint32_t first_ = 0, other_ = 0;  // the two most frequent words
  DownSampling sampling_;
  AliasTable table_;
};

}  // namespace flotilla
