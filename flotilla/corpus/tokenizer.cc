#include "flotilla/corpus/tokenizer.h"

#include <fmt/format.h>

#include "flotilla/base/utf8.h"

namespace flotilla {
namespace internal {
namespace {

constexpr CharClasses MakeEnglish() {
  CharClasses classes{};
  for (int c = 0; c < 256; ++c) {
    const bool letter = c >= 'a' && c <= 'z';
    classes[c] = letter      ? CharClass::kWord
                 : c == ' '  ? CharClass::kBlank
                 : c == '\n' ? CharClass::kLineEnd
                             : CharClass::kChange;
  }
  return classes;
}

constexpr CharClasses MakeWhitespace() {
  CharClasses classes{};
  for (int c = 0; c < 256; ++c) {
    const bool blank = c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
    classes[c] = c == '\n'  ? CharClass::kLineEnd
                 : blank    ? CharClass::kBlank
                 : c < 0x80 ? CharClass::kWord
                            : CharClass::kChange;
  }
  return classes;
}

}  // namespace

const CharClasses kEnglishClasses = MakeEnglish();
const CharClasses kWhitespaceClasses = MakeWhitespace();

std::string_view ChangedWord(TokenizerKind kind, const CharClasses& classes, const char** from,
                             const char* end, std::string* scratch) {
  const char* const start = *from;
  const char* p = start;
  while (p < end && (classes[static_cast<uint8_t>(*p)] == CharClass::kWord ||
                     classes[static_cast<uint8_t>(*p)] == CharClass::kChange)) {
    ++p;
  }
  *from = p;
  const std::string_view raw(start, static_cast<size_t>(p - start));
  if (kind == TokenizerKind::kWhitespace) {
    if (IsUtf8(raw)) return raw;
    *scratch = RepairUtf8(raw);
    return *scratch;
  }
  scratch->clear();
  for (char c : raw) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c >= 'a' && c <= 'z') scratch->push_back(c);
  }
  return *scratch;
}

}  // namespace internal

void LetterLoss::Count(std::string_view text) {
  bool in_word = false, broken = false;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    if (internal::kWhitespaceClasses[byte] == internal::CharClass::kBlank || c == '\n') {
      in_word = broken = false;
      continue;
    }
    if (!in_word) ++words;
    in_word = true;
    const bool ascii_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    // The first byte of a letter in UTF-8. Characters below U+00C0 and in U+2000 .. U+2FFF are
    // symbols.
    const bool other_letter = byte >= 0xC3 && byte != 0xE2;
    letters += ascii_letter || other_letter;
    lost_letters += other_letter;
    if (other_letter && !broken) ++broken_words;
    broken = broken || other_letter;
  }
}

void LetterLoss::Add(const LetterLoss& other) {
  letters += other.letters;
  lost_letters += other.lost_letters;
  words += other.words;
  broken_words += other.broken_words;
}

std::string LetterLoss::Warning() const {
  if (20 * lost_letters <= letters && 20 * broken_words <= words) return {};
  const auto share = [](uint64_t part, uint64_t whole) {
    return 100 * static_cast<double>(part) / static_cast<double>(whole);
  };
  return fmt::format(
      "the tokenizer english keeps a-z only: it deletes {:.1f} % of the letters of this text, in "
      "{:.1f} % of its words; --tokenizer whitespace keeps them",
      share(lost_letters, letters), share(broken_words, words));
}

}  // namespace flotilla
