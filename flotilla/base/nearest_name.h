// What a mistyped name was probably meant to be, for error messages.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace flotilla {

// The known name that starts with `name`, else one that it abbreviates (lr: learning_rate) or is a
// word of, else the one with the fewest edits, the first of several; empty when none resembles it
// (half of the letters would change). Dashes in front of names do not count.
std::string NearestName(std::string_view name, std::span<const std::string> known);

// ", did you mean NEAREST?", or, when nothing resembles the name, "; known: A, B, C".
std::string DidYouMean(std::string_view name, std::span<const std::string> known);

}  // namespace flotilla
