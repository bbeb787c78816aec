#include "flotilla/base/utf8.h"

#include <algorithm>
#include <cstdint>

namespace flotilla {
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

std::string ShownUtf8(std::string_view text, size_t max_bytes) {
  const bool cut = text.size() > max_bytes;
  const size_t limit = cut ? max_bytes - 2 : max_bytes;
  std::string shown;
  while (!text.empty()) {
    const Sequence first = FirstSequence(text);
    const bool is_shown = first.valid > 0 && static_cast<uint8_t>(text[0]) >= ' ';
    if (shown.size() + std::max<size_t>(first.valid, 1) > limit) break;
    shown += is_shown ? text.substr(0, first.valid) : "?";
    text.remove_prefix(first.valid + first.invalid);
  }
  return cut ? shown + ".." : shown;
}

}  // namespace flotilla
