#include "flotilla/corpus/synth_corpus.h"

#include <algorithm>
#include <string_view>

namespace flotilla {
namespace {

constexpr int64_t kItemWords = 3;  // per pair
constexpr int64_t kRoleWords = 6;  // per side of a relation
constexpr int64_t kMaxDistinctWords = 1'000'000;

// Number of words on each side of a planted word: within any common training window.
constexpr int kReach = 3;
// The fractions of these words that belong to the item and to the role; the others are background.
constexpr double kItemShare = 0.45;
constexpr double kRoleShare = 0.35;
// Length of sentences without a planted word.
constexpr uint64_t kLeastSentenceWords = 4;
constexpr uint64_t kMostSentenceWords = 14;

// Three syllables of a consonant and a vowel: a million words. The factor, which is coprime to a
// million, makes neighbouring words look different.
void AppendWord(int64_t word, std::string* text) {
  constexpr std::string_view kConsonants = "bcdfghjklmnpqrstvwxz";
  constexpr std::string_view kVowels = "aeiou";
  int64_t code = word * 420'489 % kMaxDistinctWords;
  for (int syllable = 0; syllable < 3; ++syllable) {
    text->push_back(kConsonants[static_cast<size_t>(code % 20)]);
    text->push_back(kVowels[static_cast<size_t>(code / 20 % 5)]);
    code /= 100;
  }
}

}  // namespace

class SynthCorpus::Draw {
 public:
  explicit Draw(const RngKey& key) : key_(key) {}
  double Unit() { return static_cast<double>(key_.Bits(counter_++) >> 11) * 0x1p-53; }
  int64_t Below(int64_t bound) {
    return static_cast<int64_t>(key_.Below(counter_++, static_cast<uint64_t>(bound)));
  }

 private:
  const RngKey key_;
  uint64_t counter_ = 0;
};

StatusOr<SynthCorpus> SynthCorpus::Make(const SynthCorpusOptions& options) {
  auto in_range = [](int64_t value, int64_t least) {
    return value >= least && value <= kMaxDistinctWords;
  };
  if (!in_range(options.relations, 1)) {
    return InvalidArgument("synth corpus: relations {} is not in 1 .. {}", options.relations,
                           kMaxDistinctWords);
  }
  if (!in_range(options.pairs, 2)) {
    return InvalidArgument("synth corpus: pairs {} is not in 2 .. {}", options.pairs,
                           kMaxDistinctWords);
  }
  if (!in_range(options.vocabulary, 1)) {
    return InvalidArgument("synth corpus: vocabulary {} is not in 1 .. {}", options.vocabulary,
                           kMaxDistinctWords);
  }
  if (!(options.zipf_exponent > 0 && options.zipf_exponent <= 10)) {
    return InvalidArgument("synth corpus: zipf_exponent {} is not in (0, 10]",
                           options.zipf_exponent);
  }
  if (!(options.planted >= 0 && options.planted <= 1)) {
    return InvalidArgument("synth corpus: planted {} is not in [0, 1]", options.planted);
  }
  SynthCorpus corpus(options);
  if (corpus.words() > kMaxDistinctWords) {
    return InvalidArgument(
        "synth corpus: {} relations of {} pairs and a vocabulary of {} need {} words, the most is "
        "{}",
        options.relations, options.pairs, options.vocabulary, corpus.words(), kMaxDistinctWords);
  }
  return corpus;
}

SynthCorpus::SynthCorpus(const SynthCorpusOptions& options)
    : options_(options),
      key_(RngKey(options.seed).With("synth_corpus")),
      zipf_(static_cast<double>(options.vocabulary), options.zipf_exponent) {}

int64_t SynthCorpus::role_begin() const {
  return item_begin() + kItemWords * options_.relations * options_.pairs;
}

int64_t SynthCorpus::background_begin() const {
  return role_begin() + kRoleWords * 2 * options_.relations;
}

int64_t SynthCorpus::BackgroundWord(Draw* draw) const {
  return background_begin() + static_cast<int64_t>(zipf_.Rank(draw->Unit())) - 1;
}

void SynthCorpus::Sentence(Draw* draw, std::vector<int64_t>* sentence) const {
  sentence->clear();
  if (draw->Unit() >= options_.planted) {
    const int64_t words =
        kLeastSentenceWords + draw->Below(kMostSentenceWords - kLeastSentenceWords + 1);
    for (int64_t i = 0; i < words; ++i) sentence->push_back(BackgroundWord(draw));
    return;
  }
  const int64_t planted = draw->Below(item_begin());
  const int64_t item = planted / 2;
  const int64_t role = item / options_.pairs * 2 + planted % 2;
  for (int i = 0; i < 2 * kReach; ++i) {
    if (i == kReach) sentence->push_back(planted);
    const double kind = draw->Unit();
    if (kind < kItemShare) {
      sentence->push_back(item_begin() + item * kItemWords + draw->Below(kItemWords));
    } else if (kind < kItemShare + kRoleShare) {
      sentence->push_back(role_begin() + role * kRoleWords + draw->Below(kRoleWords));
    } else {
      sentence->push_back(BackgroundWord(draw));
    }
  }
}

void SynthCorpus::Block(uint64_t block, uint64_t words, std::string* text) const {
  Draw draw(key_.With(block));
  std::vector<int64_t> sentence;
  while (words > 0) {
    Sentence(&draw, &sentence);
    if (sentence.size() > words) sentence.resize(words);
    words -= sentence.size();
    for (const int64_t word : sentence) {
      AppendWord(word, text);
      text->push_back(' ');
    }
    text->back() = '\n';
  }
}

std::string SynthCorpus::PlantedWord(int64_t relation, int64_t pair, int side) const {
  std::string word;
  AppendWord((relation * options_.pairs + pair) * 2 + side, &word);
  return word;
}

uint64_t SynthCorpus::QuestionCount() const {
  return static_cast<uint64_t>(options_.relations * options_.pairs * (options_.pairs - 1));
}

std::string SynthCorpus::Questions() const {
  std::string text;
  for (int64_t r = 0; r < options_.relations; ++r) {
    text += fmt::format(": relation-{}\n", r + 1);
    for (int64_t i = 0; i < options_.pairs; ++i) {
      for (int64_t k = 0; k < options_.pairs; ++k) {
        if (i == k) continue;
        text += fmt::format("{} {} {} {}\n", PlantedWord(r, i, 0), PlantedWord(r, i, 1),
                            PlantedWord(r, k, 0), PlantedWord(r, k, 1));
      }
    }
  }
  return text;
}

}  // namespace flotilla
