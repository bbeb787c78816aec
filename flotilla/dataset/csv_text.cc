#include "flotilla/dataset/csv_text.h"

namespace flotilla {

void AppendCsvText(std::string_view text, char delimiter, std::string* line) {
  bool plain = true;
  for (const char c : text) plain &= c != delimiter && c != '"' && c != '\n' && c != '\r';
  if (plain) {
    line->append(text);
    return;
  }
  *line += '"';
  for (const char c : text) {
    if (c == '"') *line += '"';
    *line += c == '\n' || c == '\r' ? ' ' : c;
  }
  *line += '"';
}

void EndCsvRow(size_t begin, std::string* line) {
  if (line->size() == begin) line->append("\"\"");
}

}  // namespace flotilla
