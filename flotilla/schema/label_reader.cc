#include "flotilla/schema/label_reader.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "flotilla/base/scan_number.h"
#include "flotilla/schema/value.h"

namespace flotilla {
namespace {

bool ReadDouble(std::string_view text, double* value) {
  const char* const end = text.data() + text.size();
  return !text.empty() && ScanDouble(text.data(), end, value) == end;
}

}  // namespace

LabelReader::LabelReader(const Column& column, const LabelStatistics* statistics) {
  if (!column.classes.empty()) {
    rule_ = Rule::kSpellings;
    const std::string first = column.classes[0].empty() ? "" : column.classes[0][0];
    expected_ = fmt::format(
        "one of the {} classes of the schema; another spelling of one of them belongs there: "
        "label({}|SPELLING,..)",
        column.classes.size(), first);
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
  std::vector<std::string> shown;
  for (size_t k = 0; k < statistics->classes.size(); ++k) {
    const std::string& text = statistics->classes[k];
    if (k < 4) shown.push_back(fmt::format("'{}'", text));
    spellings_.emplace_back(text, static_cast<float>(k));
    double number = 0;
    ReadDouble(text, &number);
    numbers_.push_back(number);
  }
  expected_ = fmt::format(
      "one of the {} labels of the training rows, {}{}; another spelling of one of them belongs in "
      "the schema: label({}|SPELLING,..)",
      statistics->classes.size(), fmt::join(shown, ", "),
      shown.size() < statistics->classes.size() ? ", .." : "",
      statistics->classes.empty() ? "" : statistics->classes[0]);
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
