// Writes fields of CSV lines: the reverse of csv_cells.h, for rows that are in memory in another
// form and are to be read as a file of them would be.
#pragma once

#include <deque>
#include <string>
#include <string_view>

namespace flotilla {

// Appends the text of a field, in quotes if it has to be. Fields do not span lines: a line end
// becomes a blank.
void AppendCsvText(std::string_view text, char delimiter, std::string* line);

// Ends a row whose fields were appended from `begin` on. A row without any text is not a blank
// line, which is no row.
void EndCsvRow(size_t begin, std::string* line);

// What is read from a field that AppendCsvText has written, for readers of rows that were not
// written at all. OneLine: with its line ends as blanks; it is a copy in *copies if there are any.
// TrimmedCsvText: without the blanks around it, as with Schema::trim; a field in quotes keeps them.
std::string_view OneLine(std::string_view text, std::deque<std::string>* copies);
std::string_view TrimmedCsvText(std::string_view text, char delimiter);

}  // namespace flotilla
