// Selects what is trained in a batch of running text: which words down-sampling keeps, how far the
// window of each word reaches, which negatives it gets. Every draw is a function of (seed, epoch,
// batch, position), so it does not depend on threads.
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
  bool fixed = false;    // it always sees `window` words
  int negatives = 5;     // per window, shared by its words
  double sample = 1e-3;  // threshold of down_sampling.h; 0: every word is kept
  double power = 0.75;   // negatives are drawn by count ^ power
  uint64_t seed = 0;
};

// The kept words of a batch, sentence after sentence.
struct KeptWords {
  std::vector<uint32_t> ids;
  std::vector<uint32_t> begin, end;  // range of the sentence that contains ids[i]
  RngKey windows{0}, negatives{0};   // keys of the batch

  size_t size() const { return ids.size(); }
};

// Constant after construction: safe to use from any number of threads.
class WindowSampler {
 public:
  // Invalid options are an error, as is a vocabulary whose words never occur.
  static StatusOr<WindowSampler> Make(const Vocabulary& vocabulary, const WindowOptions& options);

  // Size of the vocabulary.
  size_t words() const { return table_.size(); }
  const WindowOptions& options() const { return options_; }
  // The number of ids that NegativesOf writes: options().negatives, but 0 when no second word
  // occurs.
  int negatives() const { return negatives_; }

  // Reuses the memory of *kept. REQUIRES: the batch's ids are of the vocabulary.
  void Keep(int64_t epoch, const IdBatch& batch, KeptWords* kept) const;

  struct Window {
    size_t first, last;  // [first, last), includes the word itself
  };
  Window WindowOf(const KeptWords& kept, size_t word) const {
    const auto most = static_cast<uint64_t>(options_.window);
    const size_t reach = options_.fixed ? most : 1 + kept.windows.Below(word, most);
    const size_t begin = kept.begin[word], end = kept.end[word];
    return {word - begin > reach ? word - reach : begin,
            end - word > reach ? word + reach + 1 : end};
  }

  // Writes negatives() ids, none of which is the word's own; the same id may occur twice.
  void NegativesOf(const KeptWords& kept, size_t word, uint32_t* out) const {
    for (int i = 0; i < negatives_; ++i) {
      out[i] = Negative(kept.negatives, word * static_cast<size_t>(negatives_) + i, kept.ids[word]);
    }
  }

 private:
  WindowSampler(const Vocabulary& vocabulary, const WindowOptions& options);

  uint32_t Negative(const RngKey& key, uint64_t counter, uint32_t own) const {
    uint32_t id = table_.Draw(key.Bits(counter));
    // Uses distant counters that no other draw of the batch uses.
    for (uint64_t again = 1; id == own; ++again) {
      if (again == kAttempts) return own == other_ ? first_ : other_;
      id = table_.Draw(key.Bits(counter + (again << 40)));
    }
    return id;
  }

  // Limits the attempts, since a word that makes up nearly all of the corpus could otherwise block
  // a draw forever.
  static constexpr uint64_t kAttempts = 64;

  WindowOptions options_;
  int negatives_;
  uint32_t first_ = 0, other_ = 0;  // the two most frequent words
  DownSampling sampling_;
  AliasTable table_;
};

}  // namespace flotilla
