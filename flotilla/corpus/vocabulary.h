// The words of a model: each has an id, which is its rank in the order of counts, and its number of
// occurrences in the corpus. Built by count_words.h, stored in a dictionary file, used wherever
// words are mapped to ids.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/status.h"
#include "flotilla/corpus/word_table.h"

namespace flotilla {

struct WordCount {
  std::string word;
  uint64_t count = 0;

  bool operator==(const WordCount&) const = default;
};

// The word that represents all words that are too rare.
inline constexpr std::string_view kUnknownWord = "<UNK>";

struct VocabularyOptions {
  // Words that occur less often are dropped.
  uint64_t min_count = 5;
  // Add kUnknownWord for the dropped words; its count is the sum of theirs, possibly 0.
  bool unknown_word = false;
};

// Constant after construction: safe to use from any number of threads.
class Vocabulary {
 public:
  Vocabulary() = default;

  // Builds a vocabulary from all distinct words of a corpus, in any order. Sorted by descending
  // count, then by the word's bytes. If the corpus itself contains kUnknownWord and
  // options.unknown_word is set, its count is added to that of the rare words. Errors as FromWords.
  static StatusOr<Vocabulary> FromCounts(std::vector<WordCount> counts,
                                         const VocabularyOptions& options);
  // Keeps the words in the given order. The error names a word that is empty, too long or
  // duplicate.
  static StatusOr<Vocabulary> FromWords(std::vector<WordCount> words);
  // Reads a dictionary file: lines `word count`, in the order of ids. Errors name file and line.
  static StatusOr<Vocabulary> Load(const std::string& path);

  Status Save(const std::string& path) const;
  // Writes lines `word id`: the file that PaddlePaddle's word2vec example puts next to a filtered
  // corpus.
  Status SaveIds(const std::string& path) const;

  size_t size() const { return words_.size(); }
  const std::string& word(size_t id) const { return words_[id].word; }
  uint64_t count(size_t id) const { return words_[id].count; }
  const std::vector<WordCount>& words() const { return words_; }
  // Sum of the counts.
  uint64_t total() const { return total_; }

  std::optional<uint32_t> Find(std::string_view word) const {
    const uint64_t* id = ids_.Find(word);
    return id == nullptr ? std::nullopt : std::optional(static_cast<uint32_t>(*id));
  }
  // The id of kUnknownWord, if there is one.
  std::optional<uint32_t> unknown() const { return Find(kUnknownWord); }

 private:
  Status Add(WordCount word);

  std::vector<WordCount> words_;
  uint64_t total_ = 0;
  WordTable ids_;
};

}  // namespace flotilla
