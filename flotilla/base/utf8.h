// UTF-8: whether text is valid, and how text of any bytes is stored or shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace flotilla {

bool IsUtf8(std::string_view bytes);

// Returns the bytes with each maximal invalid part replaced by U+FFFD, as decoders usually do.
std::string RepairUtf8(std::string_view bytes);

// The text for a message or a table: on one line, in valid UTF-8 and of at most `max_bytes` bytes,
// of which the last two are ".." where it is cut. Control characters and invalid parts become '?'.
// REQUIRES: max_bytes >= 2.
std::string ShownUtf8(std::string_view text, size_t max_bytes);

}  // namespace flotilla
