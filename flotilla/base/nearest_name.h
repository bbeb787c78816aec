// Suggests the name that the user probably meant, for error messages about unknown names.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace flotilla {

// Returns the known name that starts with `name`; else one that `name` abbreviates (lr:
// learning_rate) or of which `name` is a word; else the one with the smallest edit distance. Among
// equals the first one wins. Empty when no name is similar (half of the letters would change).
// Leading dashes are ignored.
std::string NearestName(std::string_view name, std::span<const std::string> known);

// ", did you mean NEAREST?", or, when no known name is similar, "; known: A, B, C".
std::string DidYouMean(std::string_view name, std::span<const std::string> known);

}  // namespace flotilla
