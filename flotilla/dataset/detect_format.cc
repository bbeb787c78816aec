#include "flotilla/dataset/detect_format.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "flotilla/base/scan_number.h"
#include "flotilla/base/utf8.h"
#include "flotilla/dataset/criteo_line.h"
#include "flotilla/dataset/csv_cells.h"
#include "flotilla/schema/schema_words.h"

namespace flotilla {
namespace {

struct Delimiter {
  char character;
  std::string_view name;

  CsvForm form() const { return CsvForm(character, character != '\t', /*trimmed=*/true); }
};
constexpr std::array<Delimiter, 4> kDelimiters = {
    {{'\t', "tab"}, {',', "comma"}, {';', "semicolon"}, {'|', "pipe"}}};

constexpr size_t kMaxName = 40;  // bytes of a column's name in a message

bool IsBlankText(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

std::vector<std::string_view> WordsOf(std::string_view line) {
  std::vector<std::string_view> words;
  while (true) {
    const size_t begin = line.find_first_not_of(" \t");
    if (begin == std::string_view::npos) return words;
    const size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    line.remove_prefix(end);
  }
}

bool IsNumber(std::string_view text) {
  double number = 0;
  const char* const end = text.data() + text.size();
  return !text.empty() && ScanDouble(text.data(), end, &number) == end;
}

bool IsWhole(std::string_view text) {
  uint64_t number = 0;
  const char* const end = text.data() + text.size();
  return !text.empty() && ScanUint64(text.data(), end, &number) == end;
}

struct IgnoringSink {
  void Label(bool) {}
  void MissingNumber(int) {}
  void Number(int, int64_t) {}
  void Category(int, std::string_view) {}
};

bool IsCriteo(std::string_view line) {
  IgnoringSink sink;
  return WalkCriteoLine(line, &sink).ok();
}

// A label and `colons` + 1 parts in every word, of which the last is a number and the others are
// whole.
bool HasFeatures(std::string_view line, size_t colons) {
  line = line.substr(0, line.find('#'));
  const std::vector<std::string_view> words = WordsOf(line);
  if (words.size() < 2 || !IsNumber(words[0])) return words.empty();
  for (size_t i = 1; i < words.size(); ++i) {
    std::string_view rest = words[i];
    if (i == 1 && colons == 1 && rest.starts_with("qid:")) continue;
    for (size_t k = 0; k < colons; ++k) {
      const size_t colon = rest.find(':');
      if (colon == std::string_view::npos || !IsWhole(rest.substr(0, colon))) return false;
      rest.remove_prefix(colon + 1);
    }
    if (!IsNumber(rest)) return false;
  }
  return true;
}

// The number of inputs of a MultiSlot line, 0 when it is none.
size_t SlotsOf(std::string_view line) {
  const std::vector<std::string_view> words = WordsOf(line);
  size_t slots = 0;
  for (size_t i = 0; i < words.size(); ++slots) {
    uint64_t count = 0;
    const char* const end = words[i].data() + words[i].size();
    if (ScanUint64(words[i].data(), end, &count) != end || count >= words.size() - i) return 0;
    for (size_t k = 1; k <= count; ++k) {
      if (!IsNumber(words[i + k])) return 0;
    }
    i += 1 + count;
  }
  return slots;
}

// Whether so few of the lines are odd that they are bad rows of a format, which the parser reports
// with their places.
bool AreFew(size_t odd, size_t lines) { return odd * 20 <= lines; }

// The number of fields of a line, 0 when it is malformed.
size_t ColumnsOf(const std::string& line, const CsvForm& form) {
  CsvCells cells;
  return cells.Split(line, form, kMaxSchemaColumns).ok() ? cells.size() : 0;
}

// The number of fields that most lines have, and how many lines that are.
std::pair<size_t, size_t> MostColumns(std::span<const std::string> lines, const CsvForm& form) {
  std::map<size_t, size_t> lines_of;
  for (const std::string& line : lines) ++lines_of[ColumnsOf(line, form)];
  return *std::max_element(lines_of.begin(), lines_of.end(),
                           [](auto& a, auto& b) { return a.second < b.second; });
}

// The number of fields of all but a few lines, 0 when there is none.
size_t ColumnsOf(std::span<const std::string> lines, const CsvForm& form) {
  const auto [columns, most] = MostColumns(lines, form);
  return AreFew(lines.size() - most, lines.size()) ? columns : 0;
}

// Why the lines are not CSV, where most of them are: the first that differs. Empty otherwise.
std::string WhyNotCsv(std::span<const std::string> lines) {
  size_t rows = 0;
  for (const std::string& line : lines) rows += IsBlankText(line) ? 0 : 1;
  for (const Delimiter& each : kDelimiters) {
    const CsvForm form = each.form();
    const auto [columns, most] = MostColumns(lines, form);
    if (columns < 2 || 2 * most <= rows) continue;
    for (size_t i = 0; i < lines.size(); ++i) {
      const size_t found = ColumnsOf(lines[i], form);
      if (IsBlankText(lines[i]) || found == columns) continue;
      const std::string what = found == 0 ? std::string("malformed quotes") : fmt::to_string(found);
      return fmt::format("; {} of them have {} columns, separated by {}s, and line {} has {}", most,
                         columns, each.name, i + 1, what);
    }
  }
  return {};
}

std::vector<std::string> WithoutBlankLines(std::span<const std::string> lines) {
  std::vector<std::string> rows;
  for (const std::string& line : lines) {
    if (!IsBlankText(line)) rows.push_back(line);
  }
  return rows;
}

// The delimiter and the number of columns; no columns when none fits.
std::pair<Delimiter, size_t> FindDelimiter(std::span<const std::string> rows) {
  std::pair<Delimiter, size_t> best{kDelimiters[0], 0};
  for (const Delimiter& each : kDelimiters) {
    const size_t columns = ColumnsOf(rows, each.form());
    if (columns > std::max<size_t>(best.second, 1)) best = {each, columns};
  }
  return best;
}

// Whether the first row consists of headings. The first and the last may be empty: tables are
// written with the numbers of their rows, and lines with a delimiter at their end.
bool HasHeader(const std::vector<std::vector<std::string>>& rows) {
  const std::vector<std::string>& names = rows[0];
  for (size_t c = 0; c < names.size(); ++c) {
    const bool at_end = c == 0 || c + 1 == names.size();
    if (names[c].empty() ? !at_end : IsNumber(names[c])) return false;
  }
  if (names.size() == 2 && names[0].empty() && names[1].empty()) return false;
  for (size_t r = 1; r < rows.size(); ++r) {
    if (rows[r] == names) continue;  // a header again, where files were joined: a bad row
    for (size_t c = 0; c < rows[r].size(); ++c) {
      if (!names[c].empty() && rows[r][c] == names[c]) return false;
    }
  }
  // Columns of words alone do not tell: then headings are what no row has again.
  return rows.size() > 1;
}

}  // namespace

StatusOr<DetectedFormat> DetectFormat(std::span<const std::string> lines) {
  const std::vector<std::string> rows = WithoutBlankLines(lines);
  if (rows.empty()) return InvalidArgument("the file has no rows");
  auto fits = [&](auto is) {
    const auto odd = rows.size() - std::count_if(rows.begin(), rows.end(), is);
    return AreFew(odd, rows.size());
  };
  if (fits([](const std::string& line) { return IsCriteo(line); })) {
    return DetectedFormat{"criteo", "a label, 13 numbers and 26 categories, separated by tabs"};
  }
  if (fits([](const std::string& line) { return HasFeatures(line, 2); })) {
    return DetectedFormat{"libffm", "a label and words FIELD:INDEX:VALUE"};
  }
  if (fits([](const std::string& line) { return HasFeatures(line, 1); })) {
    return DetectedFormat{"libsvm", "a label and words INDEX:VALUE"};
  }
  const size_t slots = SlotsOf(rows[0]);
  if (slots > 1 && fits([&](const std::string& line) { return SlotsOf(line) == slots; })) {
    return DetectedFormat{"multislot", fmt::format("{} times a count and its values", slots)};
  }
  const auto [delimiter, columns] = FindDelimiter(rows);
  if (columns > 1) {
    return DetectedFormat{delimiter.character == '\t' ? "tsv" : "csv",
                          fmt::format("every line has {} {}{}", columns - 1, delimiter.name,
                                      columns == 2 ? "" : "s")};
  }
  return InvalidArgument(
      "the first {} lines have the form of no format: neither equally many columns in every line "
      "nor words INDEX:VALUE{}; `flotilla data check --help` lists the formats",
      rows.size(), WhyNotCsv(lines));
}

StatusOr<DetectedCsv> DetectCsv(std::span<const std::string> lines) {
  const std::vector<std::string> rows = WithoutBlankLines(lines);
  const auto [delimiter, columns] = FindDelimiter(rows);
  if (columns < 2) {
    return InvalidArgument(
        "the lines have no delimiter (tab, comma, semicolon or pipe) that splits all of them into "
        "the same number of columns");
  }
  DetectedCsv detected;
  detected.form.delimiter = delimiter.character;
  detected.form.quotes = delimiter.character != '\t';
  std::vector<std::vector<std::string>> cells_of;
  for (const std::string& line : rows) {
    CsvCells cells;
    if (!cells.Split(line, delimiter.form(), kMaxSchemaColumns).ok() || cells.size() != columns)
      continue;
    std::vector<std::string>& texts = cells_of.emplace_back();
    for (const std::string_view text : cells.texts()) texts.emplace_back(text);
    // A blank beside a delimiter.
    for (size_t at = line.find(delimiter.character); at != std::string::npos;
         at = line.find(delimiter.character, at + 1)) {
      detected.form.trim |=
          (at > 0 && line[at - 1] == ' ') || (at + 1 < line.size() && line[at + 1] == ' ');
    }
  }
  detected.form.header = HasHeader(cells_of);
  if (detected.form.header) {
    std::set<std::string> known;
    for (const std::string& name : cells_of[0]) {
      if (name.empty()) continue;
      if (!known.insert(name).second) {
        return InvalidArgument("the header names two columns '{}'", ShownUtf8(name, kMaxName));
      }
      if (!IsUtf8(name)) {
        return InvalidArgument(
            "the name of a column, '{}', is not UTF-8: convert the file, for example with iconv -f "
            "LATIN1 -t UTF-8",
            ShownUtf8(name, kMaxName));
      }
      detected.names.push_back(name);
    }
  } else {
    for (size_t c = 1; c <= columns; ++c) detected.names.push_back(fmt::format("C{}", c));
  }
  return detected;
}

StatusOr<std::vector<std::string>> FirstLines(const std::string& file, int64_t count,
                                              const SourceOptions& source) {
  LineReaderOptions options;
  options.source = source;
  LineReader reader({file}, options);
  TextLines text;
  FL_RETURN_IF_ERROR(reader.Take(count, &text).status());
  std::vector<std::string> lines;
  LineCursor cursor(text);
  for (std::string_view line; cursor.Next(&line);) lines.emplace_back(line);
  return lines;
}

}  // namespace flotilla
