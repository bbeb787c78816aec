// Splits text into words, as bytes, for the corpus tools and for training on raw text. It knows
// nothing of files and keeps no state between texts.
//
//   english     the rule of PaddlePaddle's word2vec example: lower-case, delete every character
//               outside [a-z ], split on blanks. A tab is deleted, so it does not separate words.
//   whitespace  any language: split on ASCII blanks (space, tab, CR, VT, FF); everything else is
//               part of a word. Bytes that are not UTF-8 become U+FFFD, one for each maximal
//               invalid part, so that words are always valid UTF-8.
//
// In both, a line feed ends a line and a word; there are no empty words.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace flotilla {

enum class TokenizerKind { kEnglish, kWhitespace };

// Statistics of what the english tokenizer deletes from a text in another language: letters other
// than a-z and A-Z, and the words (between ASCII blanks) that contain such a letter.
struct LetterLoss {
  uint64_t letters = 0, lost_letters = 0;
  uint64_t words = 0, broken_words = 0;

  void Count(std::string_view text);
  void Add(const LetterLoss& other);
  // If more than 5 % of the letters or of the words are affected: one sentence that names the
  // tokenizer that keeps them. Otherwise empty.
  std::string Warning() const;
};

namespace internal {

enum class CharClass : uint8_t { kWord, kChange, kBlank, kLineEnd };
using CharClasses = std::array<CharClass, 256>;
extern const CharClasses kEnglishClasses;
extern const CharClasses kWhitespaceClasses;

// Returns the word that begins at `from`, part of which must be changed; moves *from to its end.
std::string_view ChangedWord(TokenizerKind kind, const CharClasses& classes, const char** from,
                             const char* end, std::string* scratch);

}  // namespace internal

// Calls on_word(word) for each word and on_line_end() at each line feed, in order. The word is
// valid during the call. The beginning and end of `text` are word boundaries, but not line ends.
template <class OnWord, class OnLineEnd>
void Tokenize(TokenizerKind kind, std::string_view text, OnWord on_word, OnLineEnd on_line_end) {
  using internal::CharClass;
  const internal::CharClasses& classes =
      kind == TokenizerKind::kEnglish ? internal::kEnglishClasses : internal::kWhitespaceClasses;
  const auto class_of = [&](const char* p) { return classes[static_cast<uint8_t>(*p)]; };
  std::string scratch;
  const char* p = text.data();
  const char* const end = p + text.size();
  while (p < end) {
    const char* const start = p;
    while (p < end && class_of(p) == CharClass::kWord) ++p;
    if (p < end && class_of(p) == CharClass::kChange) {
      p = start;
      const std::string_view word = internal::ChangedWord(kind, classes, &p, end, &scratch);
      if (!word.empty()) on_word(word);
    } else if (p > start) {
      on_word(std::string_view(start, static_cast<size_t>(p - start)));
    }
    if (p == end) break;
    if (class_of(p) == CharClass::kLineEnd) on_line_end();
    ++p;
  }
}

}  // namespace flotilla
