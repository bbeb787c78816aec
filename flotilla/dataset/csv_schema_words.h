// The word form of a CSV schema, in which each word is a setting or a column. Part of csv_schema.h:
// the JSON form also describes columns as words and uses the same names of roles and characters.
#pragma once

#include <cstddef>
#include <string_view>

#include "flotilla/base/status.h"
#include "flotilla/dataset/csv_schema.h"

namespace flotilla {

inline constexpr size_t kMaxCsvColumns = 10000;

// "ignore", "dense", "id", "bag" or "label".
std::string_view NameOfRole(CsvColumn::Role role);
StatusOr<CsvColumn::Role> ReadCsvRole(std::string_view text);

// One character, or the name of one: comma, tab, semicolon, space or pipe.
StatusOr<char> ReadCsvCharacter(std::string_view text);

// Adds the column that the word describes, or the ignored ones.
Status ReadCsvColumn(std::string_view word, CsvSchema* schema);

// Applies the settings and columns of the text, without validating the whole schema. Errors name
// the word.
Status ReadCsvWords(std::string_view text, CsvSchema* schema);

}  // namespace flotilla
