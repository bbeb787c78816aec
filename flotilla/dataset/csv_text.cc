#include "flotilla/dataset/csv_text.h"

#include <algorithm>

#include "flotilla/base/scan_number.h"

namespace flotilla {
namespace {

bool IsLineEnd(char c) { return c == '\n' || c == '\r'; }

bool NeedsQuotes(std::string_view text, char delimiter) {
  bool needs = false;
  for (const char c : text) needs |= c == delimiter || c == '"' || IsLineEnd(c);
  return needs;
}

}  // namespace

void AppendCsvText(std::string_view text, char delimiter, std::string* line) {
  if (!NeedsQuotes(text, delimiter)) {
    line->append(text);
    return;
  }
  *line += '"';
  for (const char c : text) {
    if (c == '"') *line += '"';
    *line += IsLineEnd(c) ? ' ' : c;
  }
  *line += '"';
}

void EndCsvRow(size_t begin, std::string* line) {
  if (line->size() == begin) line->append("\"\"");
}

std::string_view OneLine(std::string_view text, std::deque<std::string>* copies) {
  bool several = false;
  for (const char c : text) several |= IsLineEnd(c);
  if (!several) return text;
  std::string& copy = copies->emplace_back(text);
  std::replace_if(copy.begin(), copy.end(), IsLineEnd, ' ');
  return copy;
}

std::string_view TrimmedCsvText(std::string_view text, char delimiter) {
  if (text.empty() || !(IsBlank(text.front()) || IsBlank(text.back()))) return text;
  if (NeedsQuotes(text, delimiter)) return text;
  while (!text.empty() && IsBlank(text.front())) text.remove_prefix(1);
  while (!text.empty() && IsBlank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace flotilla
