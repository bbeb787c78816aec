#include "flotilla/dataset/prepare/infer_schema.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <vector>

#include "flotilla/base/utf8.h"
#include "flotilla/dataset/prepare/label_tally.h"
#include "flotilla/schema/schema_words.h"

namespace flotilla {
namespace {

// Above this share of distinct values a column names its rows and tells nothing about others.
constexpr double kNearlyAll = 0.9;
constexpr int64_t kFewRows = 50;  // too few to tell that
constexpr int64_t kMinCount = 4;
constexpr int64_t kQuantiles = 32;
constexpr std::array<std::string_view, 11> kLabelNames = {
    "label", "click", "clicked", "is_click",  "target", "y",
    "class", "clk",   "outcome", "converted", "rating"};

std::string Lower(const std::string& text) {
  std::string lower;
  for (const char c : text) {
    lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return lower;
}

// The spellings of each class, by what they have in common.
std::map<std::string, std::vector<std::string>> SpellingsOf(const ColumnSummary& column) {
  std::map<std::string, std::vector<std::string>> classes;
  for (const auto& [text, count] : column.top) classes[StemOfLabel(text)].push_back(text);
  for (auto& [stem, spellings] : classes) std::sort(spellings.begin(), spellings.end());
  return classes;
}

bool HasTwoValues(const ColumnSummary& column) {
  if (column.at_least || column.distinct < 2 || column.distinct > 100) return false;
  return column.distinct == 2 || (column.words() > 0 && SpellingsOf(column).size() == 2);
}

// The values of a column that would have two values without those that nearly no row has; empty: it
// is no such column.
std::string NearlyTwoValues(const ColumnSummary& column) {
  std::vector<std::string> rare;
  for (const auto& [value, count] : column.top) {
    if (!LabelTally::IsRare(count, column.count)) continue;
    rare.push_back(fmt::format("'{}' ({} of {} rows)", ShownUtf8(value, 26), count, column.count));
  }
  const bool few = !column.at_least && column.distinct <= 10;
  if (!few || rare.empty() || column.distinct - static_cast<int64_t>(rare.size()) != 2) return "";
  return fmt::format("{}", fmt::join(rare, ", "));
}

// What the columns that may be the label lack.
std::string NearMisses(const TableSummary& table) {
  std::string text;
  for (const ColumnSummary* column : {&table.columns.back(), &table.columns.front()}) {
    const std::string rare = NearlyTwoValues(*column);
    if (rare.empty()) continue;
    text += fmt::format("; {} has two values but for {}", column->name, rare);
    if (table.columns.size() == 1) break;
  }
  return text;
}

// Other columns that fit the rule by which column `chosen` was taken.
std::string OtherLabels(const TableSummary& table, size_t chosen, bool by_name) {
  constexpr size_t kShown = 4;
  std::vector<std::string> names;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    const ColumnSummary& column = table.columns[c];
    const bool fits =
        by_name ? column.distinct > 1 && std::find(kLabelNames.begin(), kLabelNames.end(),
                                                   Lower(column.name)) != kLabelNames.end()
                : HasTwoValues(column);
    if (c != chosen && fits) names.push_back(column.name);
  }
  if (names.empty()) return "";
  const bool more = names.size() > kShown;
  names.resize(std::min(names.size(), kShown));
  return fmt::format("{} is taken for the label, but {}{} could be it as well: --label says which",
                     table.columns[chosen].name, fmt::join(names, ", "), more ? ", .." : "");
}

StatusOr<size_t> FindLabel(const TableSummary& table, const std::string& label,
                           LabelChoice* choice) {
  std::vector<std::string> names;
  for (const ColumnSummary& column : table.columns) names.push_back(column.name);
  if (!label.empty()) {
    const auto found = std::find(names.begin(), names.end(), label);
    if (found == names.end()) {
      return InvalidArgument("there is no column '{}'; the columns are {}", label,
                             fmt::join(names, ", "));
    }
    choice->reason = "--label says so";
    return static_cast<size_t>(found - names.begin());
  }
  const auto choose = [&](size_t c, bool by_name, std::string_view reason) {
    choice->reason = reason;
    choice->warning = OtherLabels(table, c, by_name);
    return c;
  };
  for (const std::string_view name : kLabelNames) {
    for (size_t c = 0; c < names.size(); ++c) {
      if (Lower(names[c]) == name && table.columns[c].distinct > 1) {
        return choose(c, true, "its name says so");
      }
    }
  }
  if (HasTwoValues(table.columns.back())) {
    return choose(names.size() - 1, false, "the last column, and it has two values");
  }
  if (HasTwoValues(table.columns.front())) {
    return choose(0, false, "the first column, and it has two values");
  }
  return InvalidArgument("no column looks like the label: give --label with one of {}{}",
                         fmt::join(names, ", "), NearMisses(table));
}

std::string LabelWord(const ColumnSummary& column) {
  if (column.words() == 0) return "label";
  std::vector<std::string> classes;
  for (const auto& [stem, spellings] : SpellingsOf(column)) {
    std::vector<std::string> quoted;
    for (const std::string& spelling : spellings) quoted.push_back(QuotedWord(spelling));
    classes.push_back(fmt::format("{}", fmt::join(quoted, "|")));
  }
  if (classes.size() > LabelTally::kMaxClasses / 10) return "label";
  return fmt::format("label({})", fmt::join(classes, ","));
}

bool NamesRows(const ColumnSummary& column) {
  if (column.count < kFewRows) return false;
  if (column.at_least) return column.count < 2 * column.distinct;
  return static_cast<double>(column.distinct) > kNearlyAll * static_cast<double>(column.count);
}

// What the schema does with a column, and why when that does not follow from its values.
struct Use {
  std::string role;
  std::string reason;
};

Use UseOf(const ColumnSummary& column) {
  if (column.count == 0) return {"ignore", "no values"};
  if (!column.times.empty()) {
    return {fmt::format("time({})", NameOf(column.times[0])), ""};
  }
  const bool fractions = column.words() == 0 && column.fractions > 0;
  if (!fractions && NamesRows(column)) return {"ignore", "nearly all values are distinct"};
  if (column.distinct == 1 && column.missing == 0) return {"ignore", "all values are the same"};
  if (column.words() > 0) return {"category", ""};
  const std::string number = column.min >= 0 ? "number(log,standardise)" : "number(standardise)";
  if (fractions) return {fmt::format("{}+bucket(quantiles={})", number, kQuantiles), ""};
  return {number + "+category", ""};
}

std::string SeenIn(const ColumnSummary& column, const std::string& reason) {
  std::string seen = TypeOf(column);
  if (!reason.empty()) seen = reason + ": " + seen;
  if (column.words() == 0 && column.count > 0 && column.times.empty()) {
    seen += fmt::format(" {:.6g} .. {:.6g}, mean {:.4g}", column.min, column.max, column.mean);
  }
  seen += fmt::format(", {}{} distinct", column.at_least ? "more than " : "", column.distinct);
  if (column.missing > 0) seen += fmt::format(", {} missing", column.missing);
  if (column.words() > 0 && !column.top.empty() && !NamesRows(column)) {
    std::vector<std::string> shown;
    for (size_t i = 0; i < std::min<size_t>(3, column.top.size()); ++i) {
      shown.push_back(ShownUtf8(column.top[i].first, 26));
    }
    seen += fmt::format(": {}{}", fmt::join(shown, ", "), column.top.size() > 3 ? ", .." : "");
  }
  return seen;
}

std::string Settings(const TableSummary& table, const DetectedCsv& form) {
  std::string text;
  if (form.form.delimiter == '\t') {
    text += "delimiter=tab quotes=no ";
  } else if (form.form.delimiter == ';') {
    text += "delimiter=semicolon ";
  } else if (form.form.delimiter == '|') {
    text += "delimiter=pipe ";
  }
  text += fmt::format("header={} ", form.form.header ? "yes" : "no");
  if (form.form.trim) text += "trim=yes ";
  const bool commas = std::any_of(
      table.columns.begin(), table.columns.end(),
      [](const ColumnSummary& column) { return column.words() == 0 && column.decimal_commas > 0; });
  if (commas) text += "decimal=comma ";
  if (!table.markers.empty()) text += fmt::format("missing={} ", fmt::join(table.markers, ","));
  return text + fmt::format("min_count={}", kMinCount);
}

}  // namespace

std::string TypeOf(const ColumnSummary& column) {
  if (column.count == 0) return "nothing";
  if (!column.times.empty()) return "time";
  if (column.words() > 0) return "words";
  return column.fractions > 0 ? "numbers" : "whole numbers";
}

StatusOr<std::string> InferSchema(const TableSummary& table, const DetectedCsv& form,
                                  const std::string& label, LabelChoice* choice) {
  LabelChoice chosen;
  FL_ASSIGN_OR_RETURN(const size_t label_column, FindLabel(table, label, &chosen));
  chosen.column = table.columns[label_column].name;
  if (choice != nullptr) *choice = std::move(chosen);
  if (const ColumnSummary& column = table.columns[label_column];
      column.words() == 0 && column.decimal_commas > 0) {
    return InvalidArgument(
        "the label '{}' has decimal commas, such as '{}', which are read in other columns only: "
        "write its numbers with a point",
        column.name, column.top[0].first);
  }
  for (const auto& [value, count] : table.columns[label_column].top) {
    if (IsUtf8(value)) continue;
    return InvalidArgument(
        "the label '{}' has the value '{}', which is not UTF-8: convert the file, for example with "
        "iconv -f LATIN1 -t UTF-8",
        table.columns[label_column].name, ShownUtf8(value, 40));
  }
  std::string text = fmt::format(
      "# {} {} rows and {} columns; edit what is wrong. Categories that occur fewer than "
      "min_count\n"
      "# times share one id.\n{}\n\n",
      table.complete ? "Made from" : "Made from the first", table.rows, table.columns.size(),
      Settings(table, form));
  std::vector<std::string> words, seen;
  for (size_t c = 0; c < table.columns.size(); ++c) {
    const ColumnSummary& column = table.columns[c];
    Use use = UseOf(column);
    if (c == label_column)
      use = {LabelWord(column), column.words() > 0 ? "the last class is 1" : ""};
    words.push_back(fmt::format("{}:{}", QuotedWord(column.name), use.role));
    seen.push_back(SeenIn(column, use.reason));
  }
  size_t width = 0;
  for (const std::string& word : words) width = std::max(width, std::min<size_t>(word.size(), 50));
  for (size_t c = 0; c < words.size(); ++c) {
    text += fmt::format("{:<{}}  # {}\n", words[c], width, seen[c]);
  }
  return text;
}

}  // namespace flotilla
