// Schemas of data sets that have no header to infer one from, by name.
#pragma once

#include <string_view>

namespace flotilla {

// The text of the schema with that name; empty when there is none. "criteo": raw rows of the Criteo
// click logs, numbers as log(1 + x) and as buckets, categories with the values that occur at least
// four times. (The format `criteo` reads the same rows with the fixed numbers of the tutorials.)
std::string_view BuiltinSchema(std::string_view name);

}  // namespace flotilla
