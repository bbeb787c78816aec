#include "flotilla/corpus/tokenizer.h"

#include <fmt/format.h>

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

namespace {

// Length of the valid sequence at the front of `s`, or 0 and the length of the maximal invalid
// part.
struct Sequence {
  size_t valid = 0;
  size_t invalid = 0;
};

Sequence FirstSequence(std::string_view s) {
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(s[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {.valid = 1};
  const size_t length = lead >= 0xc2 && lead <= 0xdf   ? 2
                        : lead >= 0xe0 && lead <= 0xef ? 3
                        : lead >= 0xf0 && lead <= 0xf4 ? 4
                                                       : 0;
  if (length == 0) return {.invalid = 1};
  for (size_t i = 1; i < length; ++i) {
    // The second byte has narrower bounds after some lead bytes: no overlong forms, no surrogates,
    // nothing above U+10FFFF.
    const uint8_t low = i > 1 ? 0x80 : lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const uint8_t high = i > 1 ? 0xbf : lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (i == s.size() || byte(i) < low || byte(i) > high) return {.invalid = i};
  }
  return {.valid = length};
}

}  // namespace

bool IsUtf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const Sequence first = FirstSequence(bytes);
    if (first.valid == 0) return false;
    bytes.remove_prefix(first.valid);
  }
  return true;
}

std::string RepairUtf8(std::string_view bytes) {
  std::string repaired;
  while (!bytes.empty()) {
    const Sequence first = FirstSequence(bytes);
    repaired += first.valid > 0 ? bytes.substr(0, first.valid) : "\xef\xbf\xbd";
    bytes.remove_prefix(first.valid + first.invalid);
  }
  return repaired;
}

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
