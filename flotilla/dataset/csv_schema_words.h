// The word form of a CSV schema, each word a setting or a column. A part of csv_schema.h: its JSON
// form has columns as words too, and the same names of roles and characters.
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

// Sets and adds what the words of the text say, without a check of the whole. Errors name the word.
Status ReadCsvWords(std::string_view text, CsvSchema* schema);

}  // namespace flotilla
