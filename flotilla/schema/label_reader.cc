#include "flotilla/schema/label_reader.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/scan_number.h"
#include "flotilla/schema/value.h"

namespace flotilla {
namespace {

bool ReadDouble(std::string_view text, double* value) {
  const char* const end = text.data() + text.size();
  return !text.empty() && ScanDouble(text.data(), end, value) == end;
}

// What an unknown label is told, with the names of the classes.
std::string ExpectedLabel(std::span<const std::string> classes) {
  constexpr size_t kShown = 4;
  std::vector<std::string> shown;
  for (const std::string& name : classes.first(std::min(classes.size(), kShown))) {
    shown.push_back(fmt::format("'{}'", name));
  }
  return fmt::format(
      "one of the {} labels {}{}; another spelling of one of them belongs in the schema, "
      "label({}|SPELLING,..): `flotilla data schema` lists the spellings of all files it is given",
      classes.size(), fmt::join(shown, ", "), shown.size() < classes.size() ? ", .." : "",
      classes.empty() ? "" : classes[0]);
}

}  // namespace

LabelReader::LabelReader(const Column& column, const LabelStatistics* statistics) {
  if (!column.classes.empty()) {
    rule_ = Rule::kSpellings;
    std::vector<std::string> names;
    for (const auto& spellings : column.classes) {
      names.push_back(spellings.empty() ? "" : spellings[0]);
    }
    expected_ = ExpectedLabel(names);
    for (size_t k = 0; k < column.classes.size(); ++k) {
      for (const std::string& spelling : column.classes[k]) {
        spellings_.emplace_back(spelling, static_cast<float>(k));
      }
    }
    return;
  }
  const bool regression = statistics != nullptr ? statistics->task == LabelTask::kRegression
                                                : column.task == LabelTask::kRegression;
  if (regression) {
    rule_ = Rule::kRegression;
    expected_ = "a number";
    return;
  }
  if (statistics == nullptr) {
    expected_ = fmt::format("a whole number of at most {}", kMaxLabel);
    return;
  }
  rule_ = statistics->numeric ? Rule::kNumbers : Rule::kSpellings;
  for (size_t k = 0; k < statistics->classes.size(); ++k) {
    const std::string& text = statistics->classes[k];
    spellings_.emplace_back(text, static_cast<float>(k));
    double number = 0;
    ReadDouble(text, &number);
    numbers_.push_back(number);
  }
  expected_ = ExpectedLabel(statistics->classes);
}

bool LabelReader::Read(std::string_view cell, float* label) const {
  double number = 0;
  switch (rule_) {
    case Rule::kSpellings:
      for (const auto& [spelling, k] : spellings_) {
        if (cell != spelling) continue;
        *label = k;
        return true;
      }
      return false;
    case Rule::kNumbers: {
      if (!ReadDouble(cell, &number)) return false;
      const auto found = std::find(numbers_.begin(), numbers_.end(), number);
      *label = static_cast<float>(found - numbers_.begin());
      return found != numbers_.end();
    }
    case Rule::kRegression:
      return ReadDouble(cell, &number) && ToFloat(number, label);
    case Rule::kWhole: {
      uint64_t whole = 0;
      const char* const end = cell.data() + cell.size();
      if (ScanUint64(cell.data(), end, &whole) != end || whole > kMaxLabel) return false;
      *label = static_cast<float>(whole);
      return true;
    }
  }
  return false;
}

}  // namespace flotilla
