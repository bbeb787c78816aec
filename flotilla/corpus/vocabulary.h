// The words of a model: each has an id, its place in the order of counts, and how often it stands
// in the corpus. Built by count_words.h, kept in a dictionary file, used wherever words become ids.
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

// The word that stands for all that are too rare.
inline constexpr std::string_view kUnknownWord = "<UNK>";

struct VocabularyOptions {
  // Words that are rarer are left out.
  uint64_t min_count = 5;
  // Have kUnknownWord for those that are left out; its count is the sum of theirs, maybe 0.
  bool unknown_word = false;
};

// Constant after it was made: safe to use from any number of threads.
class Vocabulary {
 public:
  Vocabulary() = default;

  // From all words of a corpus, in any order, each once. Sorted by count, the largest first, then
  // by the word's bytes. A corpus that has kUnknownWord itself adds it to the rare words, if there
  // is an unknown word. Errors as FromWords.
  static StatusOr<Vocabulary> FromCounts(std::vector<WordCount> counts,
                                         const VocabularyOptions& options);
  // The words as they stand. An error names the word that is empty, too long or stands twice.
  static StatusOr<Vocabulary> FromWords(std::vector<WordCount> words);
  // A dictionary file: lines `word count`, in the order of ids. Errors name file and line.
  static StatusOr<Vocabulary> Load(const std::string& path);

  Status Save(const std::string& path) const;
  // Lines `word id`, the file that the original puts beside a filtered corpus.
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
  // Of kUnknownWord.
  std::optional<uint32_t> unknown() const { return Find(kUnknownWord); }

 private:
  Status Add(WordCount word);

  std::vector<WordCount> words_;
  uint64_t total_ = 0;
  WordTable ids_;
};

}  // namespace flotilla
